// The types and functions that CuPy and CUDA offer to the body of a kernel, for two compilers: the host's, which runs
// bodies on NumPy arrays, and NVRTC, which only has to find their errors.
#ifdef __CUDACC__
#define CUPY_FOR(i, n) for (ptrdiff_t i = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += (ptrdiff_t)blockDim.x * gridDim.x)
__device__ inline unsigned int bits_of(float v) { return __float_as_uint(v); }
__device__ inline float from_bits(unsigned int v) { return __uint_as_float(v); }
#define OUTSIDE(condition) false
#else
#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>
#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define CUPY_FOR(i, n) for (ptrdiff_t i = 0; i < (n); ++i)
static unsigned int bits_of(float v) { unsigned int b; memcpy(&b, &v, 4); return b; }
static float from_bits(unsigned int b) { float v; memcpy(&v, &b, 4); return v; }
// Set by an index outside of a raw array: undefined on a device, an error here.
extern "C" { int outside_of_array = 0; }
#define OUTSIDE(condition) ((condition) && (outside_of_array = 1))
#endif

// IEEE half precision, stored; computed as float, as CuPy's class of this name.
class float16 {
  unsigned short bits_;

  __device__ static unsigned short rounded(float value) {
    unsigned int bits = bits_of(value), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return (unsigned short)(sign | 0x7e00u);
    if (magnitude >= 0x47800000u) return (unsigned short)(sign | 0x7c00u);
    unsigned int exponent = magnitude >> 23, mantissa = magnitude & 0x7fffffu, shift = 13, base = 0;
    if (exponent < 113) {  // subnormal: the leading 1 becomes explicit
      if (exponent < 102) return (unsigned short)sign;
      mantissa |= 0x800000u;
      shift = 126 - exponent;
    } else {
      base = (exponent - 112) << 10;
    }
    unsigned int kept = mantissa >> shift, rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1));
    return (unsigned short)(sign | (base + kept));
  }

 public:
  __device__ float16() {}
  __device__ float16(float value) : bits_(rounded(value)) {}
  explicit __device__ float16(bool value) : bits_(rounded((float)value)) {}
  explicit __device__ float16(double value) : bits_(rounded((float)value)) {}
  explicit __device__ float16(int value) : bits_(rounded((float)value)) {}
  explicit __device__ float16(unsigned int value) : bits_(rounded((float)value)) {}
  explicit __device__ float16(long long value) : bits_(rounded((float)value)) {}
  explicit __device__ float16(unsigned long long value) : bits_(rounded((float)value)) {}

  template <typename T>
  __device__ float16& operator=(const T& value) {
    bits_ = static_cast<float16>(value).bits_;
    return *this;
  }

  __device__ operator float() const {
    unsigned int sign = (bits_ & 0x8000u) << 16, exponent = (bits_ >> 10) & 31u, mantissa = bits_ & 0x3ffu;
    if (exponent == 31) return from_bits(sign | 0x7f800000u | (mantissa << 13));
    if (exponent) return from_bits(sign | ((exponent + 112) << 23) | (mantissa << 13));
    float value = (float)mantissa * 5.9604644775390625e-8f;  // 2 ** -24
    return sign ? -value : value;
  }
};
typedef float16 half;

// An array of any strides, indexed by a position in C order or by one index per axis.
template <typename T>
class CArray {
  T* data_;
  ptrdiff_t size_;
  const ptrdiff_t *shape_, *strides_;
  ptrdiff_t ndim_;

  __device__ T* at(ptrdiff_t i) const {
#ifdef __CUDACC__
    return data_ + i;  // compiled only: the loop below costs NVRTC seconds
#endif
    if (OUTSIDE(i < 0 || i >= size_)) return data_;
    char* found = (char*)data_;
    for (ptrdiff_t axis = ndim_; axis-- > 0;) {
      found += (i % shape_[axis]) * strides_[axis];
      i /= shape_[axis];
    }
    return (T*)found;
  }

  template <typename Int>
  __device__ T* at(const Int* index) const {
    char* found = (char*)data_;
    for (ptrdiff_t axis = 0; axis < ndim_; ++axis) {
      if (OUTSIDE(index[axis] < 0 || index[axis] >= shape_[axis])) return data_;
      found += index[axis] * strides_[axis];
    }
    return (T*)found;
  }

 public:
  __device__ ptrdiff_t size() const { return size_; }
  __device__ const ptrdiff_t* shape() const { return shape_; }
  __device__ const ptrdiff_t* strides() const { return strides_; }
  __device__ T& operator[](ptrdiff_t i) { return *at(i); }
  __device__ const T& operator[](ptrdiff_t i) const { return *at(i); }
  template <typename Int, int n>
  __device__ T& operator[](const Int (&index)[n]) { return *at(index); }
  template <typename Int, int n>
  __device__ const T& operator[](const Int (&index)[n]) const { return *at(index); }
};

// The loop: turns a position into one index per axis.
class CIndexer {
  ptrdiff_t size_, ndim_, index_[32];
  const ptrdiff_t* shape_;

 public:
  __device__ CIndexer(ptrdiff_t size, ptrdiff_t ndim, const ptrdiff_t* shape)
      : size_(size), ndim_(ndim), shape_(shape) {}
  __device__ ptrdiff_t size() const { return size_; }
  typedef ptrdiff_t Index[32];
  __device__ const Index& get() const { return index_; }
  __device__ void set(ptrdiff_t i) {
    for (ptrdiff_t axis = ndim_; axis-- > 0;) {
      index_[axis] = i % shape_[axis];
      i /= shape_[axis];
    }
  }
};

#ifndef __CUDACC__
// What CUDA has without an include, for the host.
using std::abs; using std::acos; using std::acosh; using std::asin; using std::asinh; using std::atan;
using std::atan2; using std::atanh; using std::cbrt; using std::ceil; using std::copysign; using std::cos;
using std::cosh; using std::erf; using std::erfc; using std::exp; using std::exp2; using std::expm1; using std::fabs;
using std::floor; using std::fma; using std::fmax; using std::fmin; using std::fmod; using std::hypot;
using std::isfinite; using std::isinf; using std::isnan; using std::lgamma; using std::log; using std::log10;
using std::log1p; using std::log2; using std::pow; using std::rint; using std::round; using std::signbit;
using std::sin; using std::sinh; using std::sqrt; using std::tan; using std::tanh; using std::tgamma; using std::trunc;

// As CUDA's: a NaN gives way to a number. Integers by value; float16 must be converted first, as on a device.
template <typename A, typename B>
using Numbers = typename std::enable_if<std::is_arithmetic<A>::value && std::is_arithmetic<B>::value,
                                        typename std::common_type<A, B>::type>::type;
template <typename A, typename B>
static Numbers<A, B> min(A a, B b) {
  Numbers<A, B> x = a, y = b;
  return x != x ? y : (y < x ? y : x);
}
template <typename A, typename B>
static Numbers<A, B> max(A a, B b) {
  Numbers<A, B> x = a, y = b;
  return x != x ? y : (x < y ? y : x);
}
static float rsqrtf(float x) { return 1 / sqrtf(x); }
static float rsqrt(float x) { return rsqrtf(x); }
static double rsqrt(double x) { return 1 / sqrt(x); }
// Macros, because glibc declares functions of these names.
#define __expf expf
#define __logf logf
#define __powf powf
#define __sinf sinf
#define __cosf cosf
static float __fdividef(float x, float y) { return x / y; }
static float __fsqrt_rn(float x) { return sqrtf(x); }
static float __fmul_rn(float x, float y) { return x * y; }
static float __fadd_rn(float x, float y) { return x + y; }
static float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
static float __int_as_float(int x) { return from_bits((unsigned int)x); }
static int __float_as_int(float x) { return (int)bits_of(x); }
static double normcdf(double x) { return erfc(-x * 0.70710678118654752440) / 2; }
static float normcdff(float x) { return erfcf(-x * 0.70710678118654752440f) / 2; }
template <typename T>
static T __ldg(const T* place) { return *place; }

// One thread runs at a time.
template <typename T, typename U>
static T atomicAdd(T* place, U value) { T before = *place; *place = before + (T)value; return before; }
template <typename T, typename U>
static T atomicMax(T* place, U value) { T before = *place; *place = max(before, (T)value); return before; }
template <typename T, typename U>
static T atomicMin(T* place, U value) { T before = *place; *place = min(before, (T)value); return before; }
template <typename T, typename U>
static T atomicExch(T* place, U value) { T before = *place; *place = (T)value; return before; }

struct Place { unsigned int x, y, z; };
static Place threadIdx, blockIdx, blockDim, gridDim;
#endif
