/* Updates of parameters by optimizers, in one pass over memory. Included for each T.

   The arrays are gradient, parameter and states, as in the formula of the rule (minichainer/optimizers), of which all
   but the gradient are changed in place. The numbers are the formula's coefficients; bit k of the size says whether
   coefficient k is there, which matters where it may be None. Operations and their order are those of the formula, so
   that results are equal bit for bit. */
#define UPDATES(BOTH, SINGLE) \
    BOTH(sgd, "=T>T:ns") \
    BOTH(momentum_sgd, "=T>TT:nss") \
    BOTH(corrected_momentum_sgd, "=T>TT:nss") \
    BOTH(nesterov_ag, "=T>TT:nssss") \
    BOTH(ada_grad, "=T>TT:nss") \
    BOTH(ada_delta, "=T>TTT:nsss") \
    BOTH(rmsprop, "=T>TT:nsssss") \
    BOTH(rmsprop_graves, "=T>TTTT:nssssss") \
    BOTH(smorms3, "=T>TTTT:nss") \
    BOTH(msvag, "=T>TTT:nsssssssss") \
    BOTH(adam, "=T>TTTT?:nsssssssss") \
    BOTH(lion, "=T>TT:nssss") \
    BOTH(radam, "=T>TTT:nssssss") \
    BOTH(add_scaled, "=T>T:s") \
    BOTH(add_scaled_sign, "=T>T:s")

#define COEFFICIENT(name, k) const T name = (T)numbers[k]
#define HAS_COEFFICIENT(k) ((int)(sizes[1] >> (k)) & 1)
#define GRADIENT const T *const grad = IN(T, 0)
#define UPDATED(name, k) T *const name = OUT(T, k)
#define EACH for (isize i = 0; i < sizes[0]; i++)

/* Of two numbers the larger or smaller one, NaN if one is. */
INLINED T NAME(larger)(T a, T b) { return a > b || a != a ? a : b; }
INLINED T NAME(smaller)(T a, T b) { return a < b || a != a ? a : b; }

INLINED T NAME(root)(T x) {
#if IS_SINGLE
    return sqrtf(x);
#else
    return sqrt(x);
#endif
}

/* What is left of a mean square, plus a new one: g * root, whose square overflows late. */
INLINED T NAME(mean_square)(T before, T kept, T g, T root) {
    const T scaled = g * root;
    return before * kept + scaled * scaled;
}

KERNEL(sgd) {
    GRADIENT;
    UPDATED(param, 1);
    COEFFICIENT(lr, 0);
    EACH param[i] -= grad[i] * lr;
}

KERNEL(momentum_sgd) {
    GRADIENT;
    UPDATED(param, 1);
    UPDATED(v, 2);
    COEFFICIENT(lr, 0);
    COEFFICIENT(momentum, 1);
    EACH {
        const T velocity = v[i] * momentum - grad[i] * lr;
        v[i] = velocity;
        param[i] += velocity;
    }
}

KERNEL(corrected_momentum_sgd) {
    GRADIENT;
    UPDATED(param, 1);
    UPDATED(v, 2);
    COEFFICIENT(lr, 0);
    COEFFICIENT(momentum, 1);
    EACH {
        const T velocity = v[i] * momentum - grad[i];
        v[i] = velocity;
        param[i] += velocity * lr;
    }
}

KERNEL(nesterov_ag) {
    GRADIENT;
    UPDATED(param, 1);
    UPDATED(v, 2);
    COEFFICIENT(lr, 0);
    COEFFICIENT(momentum, 1);
    COEFFICIENT(squared, 2);
    COEFFICIENT(ahead, 3);
    EACH {
        const T step = grad[i] * lr, velocity = v[i] * momentum - step;
        v[i] = velocity;
        param[i] = (param[i] - step * ahead) + velocity * squared;
    }
}

KERNEL(ada_grad) {
    GRADIENT;
    UPDATED(param, 1);
    UPDATED(h, 2);
    COEFFICIENT(lr, 0);
    COEFFICIENT(eps, 1);
    EACH {
        const T g = grad[i], sum = h[i] + g * g;
        h[i] = sum;
        param[i] -= g / (NAME(root)(sum) + eps) * lr;
    }
}

KERNEL(ada_delta) {
    GRADIENT;
    UPDATED(param, 1);
    UPDATED(msg, 2);
    UPDATED(msdx, 3);
    COEFFICIENT(eps, 0);
    COEFFICIENT(rho, 1);
    COEFFICIENT(root, 2);
    EACH {
        const T g = grad[i], mean = NAME(mean_square)(msg[i], rho, g, root);
        const T step = NAME(root)((msdx[i] + eps) / (mean + eps)) * g;
        msg[i] = mean;
        param[i] -= step;
        msdx[i] = NAME(mean_square)(msdx[i], rho, step, root);
    }
}

/* Either inside or outside is there. */
KERNEL(rmsprop) {
    GRADIENT;
    UPDATED(param, 1);
    UPDATED(ms, 2);
    COEFFICIENT(lr, 0);
    COEFFICIENT(alpha, 1);
    COEFFICIENT(root, 2);
    COEFFICIENT(inside, 3);
    COEFFICIENT(outside, 4);
    const int is_outside = HAS_COEFFICIENT(4);
    EACH {
        const T g = grad[i], mean = NAME(mean_square)(ms[i], alpha, g, root);
        const T divisor = is_outside ? NAME(root)(mean) + outside : NAME(root)(mean + inside);
        ms[i] = mean;
        param[i] -= g / divisor * lr;
    }
}

KERNEL(rmsprop_graves) {
    GRADIENT;
    UPDATED(param, 1);
    UPDATED(n, 2);
    UPDATED(g, 3);
    UPDATED(delta, 4);
    COEFFICIENT(lr, 0);
    COEFFICIENT(alpha, 1);
    COEFFICIENT(root, 2);
    COEFFICIENT(fresh, 3);
    COEFFICIENT(momentum, 4);
    COEFFICIENT(eps, 5);
    EACH {
        const T now = grad[i], square = NAME(mean_square)(n[i], alpha, now, root), mean = g[i] * alpha + now * fresh;
        const T size = NAME(root)(square), variance = NAME(larger)((size - mean) * (size + mean), 0);
        const T velocity = delta[i] * momentum - now / NAME(root)(variance + eps) * lr;
        n[i] = square;
        g[i] = mean;
        delta[i] = velocity;
        param[i] += velocity;
    }
}

KERNEL(smorms3) {
    GRADIENT;
    UPDATED(param, 1);
    UPDATED(mem, 2);
    UPDATED(g, 3);
    UPDATED(g2, 4);
    COEFFICIENT(lr, 0);
    COEFFICIENT(eps, 1);
    EACH {
        const T now = grad[i], rate = 1 / (mem[i] + 1);
        const T mean = g[i] + (now - g[i]) * rate;
        const T square = NAME(mean_square)(g2[i], 1 - rate, now, NAME(root)(rate));
        const T ratio = mean / NAME(root)(square + eps), certain = ratio * ratio;
        g[i] = mean;
        g2[i] = square;
        mem[i] = mem[i] * (1 - certain) + 1;
        param[i] -= NAME(smaller)(certain, lr) * now / (NAME(root)(square) + eps);
    }
}

/* Decay may be missing. */
KERNEL(msvag) {
    GRADIENT;
    UPDATED(param, 1);
    UPDATED(m, 2);
    UPDATED(v, 3);
    COEFFICIENT(fresh, 0);
    COEFFICIENT(kept, 1);
    COEFFICIENT(root, 2);
    COEFFICIENT(correction, 3);
    COEFFICIENT(root_of_correction, 4);
    COEFFICIENT(noise, 5);
    COEFFICIENT(rate, 6);
    COEFFICIENT(decay, 7);
    COEFFICIENT(tiny, 8);
    const int decays = HAS_COEFFICIENT(7);
    EACH {
        const T g = grad[i], mean = m[i] + (g - m[i]) * fresh, square = NAME(mean_square)(v[i], kept, g, root);
        const T relative = mean / NAME(larger)(NAME(root)(square), tiny) * root_of_correction;
        const T ratio = NAME(smaller)(NAME(larger)(relative, -1), 1), signal = ratio * ratio;
        const T whole = NAME(larger)((1 - signal) * noise + signal, tiny);
        const T step = signal / whole * mean * correction * rate;
        m[i] = mean;
        v[i] = square;
        param[i] -= decays ? step + param[i] * decay : step;
    }
}

/* Adam for one set of features: the largest v so far (vhat), bounds of the learning rate. Decay may be missing. */
INLINED void NAME(adam_with)(const int keeps_largest, const int is_bounded, char *const *const arrays,
                                   const isize *const sizes, const double *const numbers) {
    GRADIENT;
    UPDATED(param, 1);
    UPDATED(m, 2);
    UPDATED(v, 3);
    UPDATED(vhat, 4);
    COEFFICIENT(fresh, 0);
    COEFFICIENT(kept, 1);
    COEFFICIENT(root, 2);
    COEFFICIENT(eps, 3);
    COEFFICIENT(scale, 4);
    COEFFICIENT(decay, 5);
    COEFFICIENT(lower, 6);
    COEFFICIENT(upper, 7);
    COEFFICIENT(eta, 8);
    const int decays = HAS_COEFFICIENT(5);
    EACH {
        const T g = grad[i], mean = m[i] + (g - m[i]) * fresh, now = NAME(mean_square)(v[i], kept, g, root);
        T square = now, step;
        m[i] = mean;
        v[i] = now;
        if (keeps_largest) vhat[i] = square = NAME(larger)(vhat[i], now);
        const T divisor = NAME(root)(square) + eps;
        if (is_bounded) {
            step = NAME(smaller)(NAME(larger)(scale / divisor, lower), upper) * mean * eta;
        } else {
            step = mean / divisor * scale;
        }
        param[i] -= decays ? step + param[i] * decay : step;
    }
}

KERNEL(adam) {
    const int is_bounded = HAS_COEFFICIENT(6);
    if (arrays[4]) {
        if (is_bounded) NAME(adam_with)(1, 1, arrays, sizes, numbers);
        else NAME(adam_with)(1, 0, arrays, sizes, numbers);
    } else {
        if (is_bounded) NAME(adam_with)(0, 1, arrays, sizes, numbers);
        else NAME(adam_with)(0, 0, arrays, sizes, numbers);
    }
}

KERNEL(lion) {
    GRADIENT;
    UPDATED(param, 1);
    UPDATED(m, 2);
    COEFFICIENT(lr, 0);
    COEFFICIENT(kept, 1);
    COEFFICIENT(fresh1, 2);
    COEFFICIENT(fresh2, 3);
    EACH {
        const T away = grad[i] - m[i], direction = NAME(sign_of)(away * fresh1 + m[i]);
        m[i] += away * fresh2;
        param[i] = param[i] * kept - direction * lr;
    }
}

/* Without eps, the first steps, the mean square is not used. Decay may be missing. */
KERNEL(radam) {
    GRADIENT;
    UPDATED(param, 1);
    UPDATED(m, 2);
    UPDATED(v, 3);
    COEFFICIENT(fresh, 0);
    COEFFICIENT(kept, 1);
    COEFFICIENT(root, 2);
    COEFFICIENT(rate, 3);
    COEFFICIENT(eps, 4);
    COEFFICIENT(decay, 5);
    const int is_adaptive = HAS_COEFFICIENT(4), decays = HAS_COEFFICIENT(5);
    EACH {
        const T g = grad[i], mean = m[i] + (g - m[i]) * fresh, square = NAME(mean_square)(v[i], kept, g, root);
        const T step = (is_adaptive ? mean / (NAME(root)(square) + eps) : mean) * rate;
        m[i] = mean;
        v[i] = square;
        param[i] -= decays ? step + param[i] * decay : step;
    }
}

/* y + x * factor, into y. */
KERNEL(add_scaled) {
    const T *const x = IN(T, 0);
    UPDATED(y, 1);
    COEFFICIENT(factor, 0);
    EACH y[i] += x[i] * factor;
}

/* y + sign(x) * factor, into y. */
KERNEL(add_scaled_sign) {
    const T *const x = IN(T, 0);
    UPDATED(y, 1);
    COEFFICIENT(factor, 0);
    EACH y[i] += NAME(sign_of)(x[i]) * factor;
}

#undef COEFFICIENT
#undef HAS_COEFFICIENT
#undef GRADIENT
#undef UPDATED
#undef EACH
