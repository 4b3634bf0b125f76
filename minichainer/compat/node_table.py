"""Chainer's node classes: what their constructors take, and the function of this package that computes the same.

A row is ``path.Class(constructor): inputs -> call``. The path is that of the module below ``functions``; the call
sees the names of the inputs, of the constructor, and of ``functions``. A base class of the table follows ``<``.
"""

from __future__ import annotations

ROWS = """
activation.clipped_relu.ClippedReLU(z): x -> clipped_relu(x, z)
activation.crelu.CReLU(axis=1): x -> crelu(x, axis)
activation.elu.ELU(alpha=1.0): x -> elu(x, alpha)
activation.hard_sigmoid.HardSigmoid(): x -> hard_sigmoid(x)
activation.leaky_relu.LeakyReLU(slope=0.2): x -> leaky_relu(x, slope)
activation.log_softmax.LogSoftmax(axis=1): x -> log_softmax(x, axis)
activation.prelu.PReLUFunction(): x, W -> prelu(x, W)
activation.relu.ReLU(): x -> relu(x)
activation.rrelu.RReLU(lower=1/8, upper=1/3, r=None): x -> rrelu(x, lower, upper, r=r)
activation.sigmoid.Sigmoid(): x -> sigmoid(x)
activation.softmax.Softmax(axis=1): x -> softmax(x, axis)
activation.softplus.Softplus(beta=1.0): x -> softplus(x, beta)
activation.swish.Swish(): x, beta -> swish(x, beta)
activation.tanh.Tanh(): x -> tanh(x)

array.as_strided.AsStrided(shape, strides, storage_offset=None): x -> as_strided(x, shape, strides, storage_offset)
array.broadcast.Broadcast(): *xs -> broadcast(*xs)
array.broadcast.BroadcastTo(shape): x -> broadcast_to(x, shape)
array.cast.Cast(typ): x -> cast(x, typ)
array.concat.Concat(axis=1): *xs -> concat(xs, axis)
array.copy.Copy(in_device, out_device): x -> copy(x, out_device)
array.depth2space.Depth2Space(r): x -> depth2space(x, r)
array.diagonal.Diagonal(offset, axis1, axis2): x -> diagonal(x, offset, axis1, axis2)
array.dstack.Dstack(): *xs -> dstack(xs)
array.expand_dims.ExpandDims(axis): x -> expand_dims(x, axis)
array.flip.Flip(axis): x -> flip(x, axis)
array.fliplr.FlipLR(): x -> fliplr(x)
array.flipud.FlipUD(): x -> flipud(x)
array.get_item.GetItem(slices): x -> get_item(x, slices)
array.hstack.Hstack(): *xs -> hstack(xs)
array.im2col.Im2Col(ksize, stride, pad, cover_all, dilate): x -> im2col(x, ksize, stride, pad, cover_all, dilate)
array.moveaxis.Moveaxis(source, destination): x -> moveaxis(x, source, destination)
array.pad.Pad(pad_width, mode, **keywords): x -> pad(x, pad_width, mode, **keywords)
array.pad_sequence.PadSequence(length, padding): *xs -> pad_sequence(xs, length, padding)
array.permutate.Permutate(indices, axis, inv): x -> permutate(x, indices, axis, inv)
array.repeat.Repeat(repeats, axis=None): x -> repeat(x, repeats, axis)
array.reshape.Reshape(shape): x -> reshape(x, shape)
array.resize_images.ResizeImages(output_shape, mode='bilinear', align_corners=True): \
x -> resize_images(x, output_shape, mode=mode, align_corners=align_corners)
array.rollaxis.Rollaxis(axis, start): x -> rollaxis(x, axis, start)
array.scatter_add.ScatterAdd(slices): a, b -> scatter_add(a, slices, b)
array.select_item.SelectItem(): x, t -> select_item(x, t)
array.separate.Separate(axis): x -> separate(x, axis)
array.space2depth.Space2Depth(r): x -> space2depth(x, r)
array.spatial_transformer_grid.SpatialTransformerGrid(output_shape): theta -> \
spatial_transformer_grid(theta, output_shape)
array.spatial_transformer_sampler.SpatialTransformerSampler(): x, grid -> spatial_transformer_sampler(x, grid)
array.split_axis.SplitAxis(indices_or_sections, axis): x -> split_axis(x, indices_or_sections, axis)
array.squeeze.Squeeze(axis=None): x -> squeeze(x, axis)
array.stack.Stack(axis): *xs -> stack(xs, axis)
array.swapaxes.Swapaxes(axis1, axis2): x -> swapaxes(x, axis1, axis2)
array.tile.Tile(reps): x -> tile(x, reps)
array.transpose.Transpose(axes=None): x -> transpose(x, axes)
array.transpose_sequence.TransposeSequence(length): *xs -> tuple(transpose_sequence(xs))
array.vstack.Vstack(): *xs -> vstack(xs)
array.where.Where(condition): x, y -> where(condition, x, y)

connection.bilinear.BilinearFunction(): e1, e2, W, *rest -> bilinear(e1, e2, W, *rest)
connection.convolution_2d.Convolution2DFunction(stride=1, pad=0, cover_all=False, **kwargs): \
x, W, b=None -> convolution_2d(x, W, b, stride, pad, cover_all, **kwargs)
connection.convolution_nd.ConvolutionND(ndim, stride=1, pad=0, cover_all=False, dilate=1, groups=1): \
x, W, b=None -> convolution_nd(x, W, b, stride, pad, cover_all, dilate, groups)
connection.deconvolution_2d.Deconvolution2DFunction(stride=1, pad=0, outsize=None, **kwargs): \
x, W, b=None -> deconvolution_2d(x, W, b, stride, pad, outsize, **kwargs)
connection.deconvolution_nd.DeconvolutionND(ndim, stride=1, pad=0, outsize=None, dilate=1, groups=1): \
x, W, b=None -> deconvolution_nd(x, W, b, stride, pad, outsize, dilate, groups)
connection.embed_id.EmbedIDFunction(ignore_label=None): x, W -> embed_id(x, W, ignore_label)
connection.linear.LinearFunction(): x, W, b=None -> linear(x, W, b)
connection.local_convolution_2d.LocalConvolution2DFunction(stride=1): x, W, b=None -> \
local_convolution_2d(x, W, b, stride)
connection.shift.Shift(ksize=3, dilate=1): x -> shift(x, ksize, dilate)

evaluation.accuracy.Accuracy(ignore_label=None): y, t -> accuracy(y, t, ignore_label)
evaluation.binary_accuracy.BinaryAccuracy(): y, t -> binary_accuracy(y, t)
evaluation.classification_summary.ClassificationSummary(label_num, beta, ignore_label): \
y, t -> classification_summary(y, t, label_num, beta, ignore_label)
evaluation.r2_score.R2_score(sample_weight, multioutput): pred, true -> \
r2_score(pred, true, sample_weight, multioutput)

loss.absolute_error.AbsoluteError(): x0, x1 -> absolute_error(x0, x1)
loss.contrastive.Contrastive(margin, reduce='mean'): x0, x1, y -> contrastive(x0, x1, y, margin, reduce)
loss.cross_covariance.CrossCovariance(reduce='half_squared_sum'): y, z -> cross_covariance(y, z, reduce)
loss.ctc.ConnectionistTemporalClassification(blank_symbol, reduce='mean'): input_length, label_length, t, *xs -> \
connectionist_temporal_classification(xs, t, blank_symbol, input_length, label_length, reduce)
loss.decov.DeCov(reduce='half_squared_sum'): h -> decov(h, reduce)
loss.hinge.Hinge(norm='L1', reduce='mean'): x, t -> hinge(x, t, norm, reduce)
loss.huber_loss.HuberLoss(delta, reduce='sum_along_second_axis'): x, t -> huber_loss(x, t, delta, reduce)
loss.mean_absolute_error.MeanAbsoluteError(): x0, x1 -> mean_absolute_error(x0, x1)
loss.mean_squared_error.MeanSquaredError(): x0, x1 -> mean_squared_error(x0, x1)
loss.negative_sampling.NegativeSamplingFunction(sampler, sample_size, reduce='sum'): \
x, t, W -> negative_sampling(x, t, W, sampler, sample_size, reduce)
loss.sigmoid_cross_entropy.SigmoidCrossEntropy(normalize=True, reduce='mean'): x, t -> \
sigmoid_cross_entropy(x, t, normalize, reduce)
loss.softmax_cross_entropy.SoftmaxCrossEntropy(normalize=True, cache_score=True, class_weight=None, \
ignore_label=-1, reduce='mean', soft_target_loss='cross-entropy'): x, t -> softmax_cross_entropy(\
x, t, normalize, cache_score, class_weight, ignore_label, reduce, soft_target_loss=soft_target_loss)
loss.squared_error.SquaredError(): x0, x1 -> squared_error(x0, x1)
loss.triplet.Triplet(margin, reduce='mean'): anchor, positive, negative -> \
triplet(anchor, positive, negative, margin, reduce)

math.arctanh.Arctanh(): x -> arctanh(x)
math.average.Mean(axis, keepdims): x -> mean(x, axis, keepdims=keepdims)
math.basic_math.Neg(): x -> -as_variable(x)
math.basic_math.Absolute(): x -> absolute(x)
math.basic_math.Add(): x0, x1 -> add(x0, x1)
math.basic_math.AddConstant(value): x -> as_variable(x) + value
math.basic_math.MultiAdd(): *xs -> add(*xs)
math.basic_math.Sub(): x0, x1 -> as_variable(x0) - x1
math.basic_math.SubFromConstant(value): x -> value - as_variable(x)
math.basic_math.Mul(): x0, x1 -> as_variable(x0) * x1
math.basic_math.MulConstant(value): x -> as_variable(x) * value
math.basic_math.Div(): x0, x1 -> as_variable(x0) / x1
math.basic_math.DivFromConstant(value): x -> value / as_variable(x)
math.basic_math.PowVarVar(): x0, x1 -> as_variable(x0) ** x1
math.basic_math.PowVarConst(value): x -> as_variable(x) ** value
math.basic_math.PowConstVar(value): x -> value ** as_variable(x)
math.batch_l2_norm_squared.BatchL2NormSquared(): x -> batch_l2_norm_squared(x)
math.cholesky.Cholesky(): a -> cholesky(a)
math.clip.Clip(x_min, x_max): x -> clip(x, x_min, x_max)
math.cumprod.Cumprod(axis): x -> cumprod(x, axis)
math.cumsum.Cumsum(axis=None): x -> cumsum(x, axis)
math.det.BatchDet(): a -> batch_det(a)
math.digamma.DiGamma(): x -> digamma(x)
math.einsum.EinSum(in_subs, out_sub): *xs -> einsum(subscripts(in_subs, out_sub), *xs)
math.einsum.DiagEinSum(in_subs, out_sub, out_shape) < EinSum: *xs -> diagonal_einsum(xs, in_subs, out_sub, out_shape)
math.erf.Erf(): x -> erf(x)
math.erfc.Erfc(): x -> erfc(x)
math.erfcinv.ErfcInv(): x -> erfcinv(x)
math.erfcx.Erfcx(): x -> erfcx(x)
math.erfinv.ErfInv(): x -> erfinv(x)
math.exponential.Exp(): x -> exp(x)
math.exponential.Log(): x -> log(x)
math.exponential.Log2(): x -> log2(x)
math.exponential.Log10(): x -> log10(x)
math.exponential_m1.Expm1(): x -> expm1(x)
math.fft.FFT(method): real, imag -> {'fft': fft, 'ifft': ifft}[method]((real, imag))
math.fmod.Fmod(): x, divisor -> fmod(x, divisor)
math.hyperbolic.Cosh(): x -> cosh(x)
math.hyperbolic.Sinh(): x -> sinh(x)
math.identity.Identity(): *xs -> identity(*xs)
math.inv.Inv(): a -> inv(a)
math.inv.BatchInv(): a -> batch_inv(a)
math.lgamma.LGamma(): x -> lgamma(x)
math.linear_interpolate.LinearInterpolate(): p, x, y -> linear_interpolate(p, x, y)
math.log_ndtr.LogNdtr(): x -> log_ndtr(x)
math.logarithm_1p.Log1p(): x -> log1p(x)
math.logsumexp.LogSumExp(axis=None): x -> logsumexp(x, axis)
math.matmul.MatMul(transa=False, transb=False, transc=False, dtype=None): a, b -> \
in_dtype(matmul(b, a, not transb, not transa) if transc else matmul(a, b, transa, transb), dtype)
math.matmul.BatchMatMul(transa=False, transb=False): a, b -> batched(a, b, transa, transb)
math.maximum.Maximum(): x1, x2 -> maximum(x1, x2)
math.minimum.Minimum(): x1, x2 -> minimum(x1, x2)
math.minmax.Max(axis=None, keepdims=False) < SelectorBase: x -> max(x, axis, keepdims)
math.minmax.Min(axis=None, keepdims=False) < SelectorBase: x -> min(x, axis, keepdims)
math.minmax.ArgMax(axis=None) < IndexSelectorBase: x -> argmax(x, axis)
math.minmax.ArgMin(axis=None) < IndexSelectorBase: x -> argmin(x, axis)
math.ndtr.Ndtr(): x -> ndtr(x)
math.ndtri.Ndtri(): x -> ndtri(x)
math.polygamma.PolyGamma(): n, x -> polygamma(n, x)
math.prod.Prod(axis=None, keepdims=False): x -> prod(x, axis, keepdims)
math.sparse_matmul.CooMatMul(sp_row, sp_col, sp_shape, sp_order='other', transa=False, transb=False, transc=False, \
dtype=None): sp, dn -> in_dtype(\
coo_product(coo(sp, sp_row, sp_col, sp_shape, sp_order), dn, transa, transb, transc), dtype)
math.sqrt.Sqrt(): x -> sqrt(x)
math.square.Square(): x -> square(x)
math.sum.Sum(axis=None, keepdims=False): x -> sum(x, axis, keepdims)
math.sum.SumTo(shape): x -> sum_to(x, shape)
math.tensordot.TensorDot(axes=2): a, b -> tensordot(a, b, axes)
math.trigonometric.Sin(): x -> sin(x)
math.trigonometric.Cos(): x -> cos(x)
math.trigonometric.Tan(): x -> tan(x)
math.trigonometric.Arcsin(): x -> arcsin(x)
math.trigonometric.Arccos(): x -> arccos(x)
math.trigonometric.Arctan(): x -> arctan(x)
math.trigonometric.Arctan2(): x1, x2 -> arctan2(x1, x2)
math.zeta.Zeta(x): q -> zeta(x, q)

noise.dropout.Dropout(dropout_ratio, mask=None, return_mask=False): x -> drawn(x, dropout_ratio, mask)
noise.gaussian.Gaussian(eps=None): mean, ln_var -> gaussian(mean, ln_var, eps=eps)
noise.simplified_dropconnect.SimplifiedDropconnect(ratio, mask=None, use_batchwise_mask=True): x, W, b=None -> \
simplified_dropconnect(x, W, b, ratio, True, mask, use_batchwise_mask)
noise.zoneout.Zoneout(zoneout_ratio): h, x -> zoned_out(h, x, zoneout_ratio)

normalization.batch_normalization.BatchNormalization(eps=2e-5, mean=None, var=None, decay=0.9, axis=None): \
x, gamma, beta -> batch_normalization(\
x, gamma, beta, eps=eps, running_mean=mean, running_var=var, decay=decay, axis=axis)
normalization.batch_normalization.FixedBatchNormalization(eps=2e-5, axis=None): \
x, gamma, beta, mean, var -> fixed_batch_normalization(x, gamma, beta, mean, var, eps, axis)
normalization.batch_renormalization.BatchRenormalizationFunction(eps=2e-5, mean=None, var=None, decay=0.9, rmax=1, \
dmax=0, update_statistics=True): x, gamma, beta -> batch_renormalization(x, gamma, beta, rmax, dmax, eps=eps, \
running_mean=mean, running_var=var, decay=decay, update_statistics=update_statistics)
normalization.decorrelated_batch_normalization.DecorrelatedBatchNormalization(groups=16, eps=2e-5, mean=None, \
projection=None, decay=0.9): x -> decorrelated_batch_normalization(\
x, groups=groups, eps=eps, running_mean=mean, running_projection=projection, decay=decay)
normalization.decorrelated_batch_normalization.FixedDecorrelatedBatchNormalization(groups): \
x, mean, projection -> fixed_decorrelated_batch_normalization(x, mean, projection, groups)
normalization.group_normalization.GroupNormalization(groups, eps=1e-5): x, gamma, beta -> \
group_normalization(x, groups, gamma, beta, eps)
normalization.group_normalization._MulInvStd(eps, mean, inv_std, dummy_gamma): x, y -> divided_by_deviation(x, y, eps)
normalization.l2_normalization.NormalizeL2(eps=1e-5, axis=1): x -> normalize(x, eps, axis)
normalization.layer_normalization.LayerNormalization(eps=1e-5): x, gamma, beta -> \
layer_normalization(x, gamma, beta, eps)
normalization.local_response_normalization.LocalResponseNormalization(n=5, k=2, alpha=1e-4, beta=0.75): \
x -> local_response_normalization(x, n, k, alpha, beta)

pooling.average_pooling_2d.AveragePooling2D(ksize, stride=None, pad=0, cover_all=True, return_indices=False) \
< Pooling2D: x -> average_pooling_2d(x, ksize, stride, pad)
pooling.average_pooling_nd.AveragePoolingND(ndim, ksize, stride=None, pad=0, cover_all=False, pad_value=0) \
< _PoolingND: x -> not_covering(cover_all) or average_pooling_nd(x, ksize, stride, pad, pad_value)
pooling.max_pooling_2d.MaxPooling2D(ksize, stride=None, pad=0, cover_all=True, return_indices=False) < Pooling2D: \
x -> max_pooling_2d(x, ksize, stride, pad, cover_all)
pooling.max_pooling_nd.MaxPoolingND(ndim, ksize, stride=None, pad=0, cover_all=True, return_indices=False) \
< _PoolingND: x -> max_pooling_nd(x, ksize, stride, pad, cover_all)
pooling.roi_average_align_2d.ROIAverageAlign2D(outsize, spatial_scale, sampling_ratio=None): x, rois, indices -> \
roi_average_align_2d(x, rois, indices, outsize, spatial_scale, sampling_ratio)
pooling.roi_average_pooling_2d.ROIAveragePooling2D(outsize, spatial_scale): x, rois, indices -> \
roi_average_pooling_2d(x, rois, indices, outsize, spatial_scale)
pooling.roi_max_align_2d.ROIMaxAlign2D(outsize, spatial_scale, sampling_ratio=None): x, rois, indices -> \
roi_max_align_2d(x, rois, indices, outsize, spatial_scale, sampling_ratio)
pooling.roi_max_pooling_2d.ROIMaxPooling2D(outsize, spatial_scale): x, rois, indices -> \
roi_max_pooling_2d(x, rois, indices, outsize, spatial_scale)
pooling.roi_pooling_2d.ROIPooling2D(outh, outw, spatial_scale): x, rois -> \
roi_pooling_2d(x, rois, outh, outw, spatial_scale)
pooling.unpooling_2d.Unpooling2D(ksize, stride=None, pad=0, outsize=None, cover_all=True) < Pooling2D: \
x -> unpooling_2d(x, ksize, stride, pad, outsize, cover_all)
pooling.unpooling_nd.UnpoolingND(ndim, ksize, stride=None, pad=0, outsize=None, cover_all=True) < _PoolingND: \
x -> unpooling_nd(x, ksize, stride, pad, outsize, cover_all)
pooling.upsampling_2d.Upsampling2D(indexes, ksize, stride=None, pad=0, outsize=None, cover_all=True) < Pooling2D: \
x -> upsampling_2d(x, indexes, ksize, stride, pad, outsize, cover_all)

rnn.lstm.LSTM(): c_prev, x -> lstm(c_prev, x)
rnn.lstm.LSTMGrad(): c_prev, x, c_next, gc, gh -> lstm_gradient(c_prev, x, c_next, gc, gh)
rnn.slstm.SLSTM(): c_prev1, c_prev2, x1, x2 -> slstm(c_prev1, c_prev2, x1, x2)
rnn.slstm.SLSTMGrad(): c_prev1, c_prev2, x1, x2, c_next, gc, gh -> \
slstm_gradient(c_prev1, c_prev2, x1, x2, c_next, gc, gh)
rnn.tree_lstm.TreeLSTM(): *xs -> tree_lstm(*xs)
util.forget.Forget(func): *xs -> forget(func, *xs)
"""

#: Classes that are only tested for: base classes, and the nodes of gradients, which are made by backward passes.
NAMES = """
activation.clipped_relu: ClippedReLUGrad2 ClippedReLUGrad3
activation.elu: ELUGrad
activation.hard_sigmoid: HardSigmoidGrad
activation.leaky_relu: _LeakyReLUGrad
activation.log_softmax: LogSoftmaxGrad
activation.prelu: PReLUFunctionGrad
activation.relu: ReLUGrad2 ReLUGradCudnn
activation.rrelu: _RReLUGrad
activation.sigmoid: SigmoidGrad
activation.softmax: _SoftmaxGrad
activation.softplus: SoftplusGrad
activation.swish: SwishGrad
activation.tanh: TanhGrad
array.as_strided: AsStridedGrad
array.diagonal: DiagonalGrad
array.get_item: GetItemGrad
array.im2col: Im2ColGrad
array.repeat: RepeatGrad
array.resize_images: ResizeImagesGrad
array.select_item: Assign
connection.bilinear: BilinearFunctionGrad
connection.convolution_2d: Convolution2DGradW
connection.convolution_nd: ConvolutionNDGradW
connection.embed_id: EmbedIDGrad
connection.linear: LinearGradData LinearGradWeight
loss.negative_sampling: NegativeSamplingFunctionGrad
loss.sigmoid_cross_entropy: SigmoidCrossEntropyGrad
loss.softmax_cross_entropy: _SoftmaxCrossEntropyGrad_NoDoubleBackprop
math.basic_math: AbsoluteGrad DivGrad DivFromConstantGrad PowVarVarGrad PowVarConstGrad PowConstVarGrad
math.batch_l2_norm_squared: BatchL2NormSquaredGrad
math.clip: ClipGrad
math.cumprod: Cumprodsum
math.linear_interpolate: LinearInterpolateGrad
math.matmul: BatchMatMulGrad
math.maximum: MaximumGrad
math.minimum: MinimumGrad
math.minmax: SelectorBase IndexSelectorBase
math.sparse_matmul: CooMatMulGradSP
math.sqrt: RsqrtGPU
math.trigonometric: SinGrad CosGrad ArcsinGrad ArccosGrad ArctanGrad Arctan2Grad
noise.dropout: DropoutGrad DropoutGradCuDNN
normalization.batch_normalization: BatchNormalizationGrad FixedBatchNormalizationGrad
normalization.decorrelated_batch_normalization: DecorrelatedBatchNormalizationGrad \
FixedDecorrelatedBatchNormalizationGrad
normalization.group_normalization: _ScaleShiftGrad _XHat _XHatGrad
normalization.l2_normalization: _SetItemZero
normalization.local_response_normalization: LocalResponseNormalizationGrad
pooling.average_pooling_2d: AveragePooling2DGrad
pooling.average_pooling_nd: AveragePoolingNDGrad
pooling.max_pooling_nd: MaxPoolingNDGrad MaxPoolingNDWithIndexes
pooling.pooling_2d: Pooling2D
pooling.pooling_nd: _PoolingND
pooling.roi_pooling_2d: ROIPooling2DGrad
pooling.unpooling_2d: Unpooling2DGrad
pooling.unpooling_nd: UnpoolingNDGrad
pooling.upsampling_2d: Upsampling2DGrad
rnn.n_step_gru: NStepGRU NStepBiGRU
rnn.n_step_lstm: NStepLSTM NStepBiLSTM
rnn.n_step_rnn: BaseNStepRNN CudnnRNNWeightConcat NStepRNNTanh NStepRNNReLU NStepBiRNNTanh NStepBiRNNReLU
"""

#: What nodes are called in graphs and errors, if that is not the name of the class; braces stand for the constant.
LABELS = """
math.basic_math.Neg __neg__
math.basic_math.Absolute |_|
math.basic_math.Add _ + _
math.basic_math.AddConstant _ + {}
math.basic_math.Sub _ - _
math.basic_math.SubFromConstant {} - _
math.basic_math.Mul _ * _
math.basic_math.MulConstant _ * {}
math.basic_math.Div _ / _
math.basic_math.DivFromConstant {} / _
math.basic_math.PowVarVar _ ** _
math.basic_math.PowVarConst _ ** {}
math.basic_math.PowConstVar {} ** _
math.cholesky.Cholesky cholesky
math.det.BatchDet det
math.digamma.DiGamma digamma
math.erf.Erf erf
math.erfc.Erfc erfc
math.erfcinv.ErfcInv erfcinv
math.erfcx.Erfcx erfcx
math.erfinv.ErfInv erfinv
math.exponential.Exp exp
math.exponential.Log log
math.exponential.Log2 log2
math.exponential.Log10 log10
math.exponential_m1.Expm1 expm1
math.fmod.Fmod fmod
math.hyperbolic.Cosh cosh
math.hyperbolic.Sinh sinh
math.lgamma.LGamma lgamma
math.log_ndtr.LogNdtr log_ndtr
math.logarithm_1p.Log1p log1p
math.ndtr.Ndtr ndtr
math.ndtri.Ndtri ndtri
math.polygamma.PolyGamma polygamma
math.sqrt.Sqrt sqrt
math.sqrt.RsqrtGPU rsqrt
math.square.Square square
math.trigonometric.Sin sin
math.trigonometric.Cos cos
math.trigonometric.Tan tan
math.trigonometric.Arcsin arcsin
math.trigonometric.Arccos arccos
math.trigonometric.Arctan arctan
math.trigonometric.Arctan2 arctan2
math.zeta.Zeta zeta
"""

#: Attributes that the nodes here do not have, or have in another form. An expression sees the arguments of the
#: constructor, the node, and the arrays of its inputs and outputs: ``f``, ``xs`` and ``ys``.
ATTRIBUTES = """
array.cast.Cast type = typ
array.moveaxis.Moveaxis destination = as_tuple(destination)
array.moveaxis.Moveaxis source = as_tuple(source)
array.pad.Pad pad_bw = np.repeat(pad_width, 2) if np.size(pad_width) == 1 else np.asarray(pad_width)
array.pad.Pad pad_width = pad_width
array.pad_sequence.PadSequence length = length
array.rollaxis.Rollaxis axis = axis
array.rollaxis.Rollaxis start = start
array.squeeze.Squeeze axis = axis if axis is None else as_tuple(axis)
connection.deconvolution_2d.Deconvolution2DFunction cover_all = None
connection.shift.Shift dx = dilate
connection.shift.Shift dy = dilate
connection.shift.Shift kh = ksize
connection.shift.Shift kw = ksize
loss.absolute_error.AbsoluteError diff = xs[0] - xs[1]
loss.mean_absolute_error.MeanAbsoluteError diff = xs[0] - xs[1]
loss.sigmoid_cross_entropy.SigmoidCrossEntropy count = \
max(1, f.ignore_mask.sum() if normalize else len(xs[0]))
loss.sigmoid_cross_entropy.SigmoidCrossEntropy ignore_label = -1
loss.sigmoid_cross_entropy.SigmoidCrossEntropy ignore_mask = xs[1] != -1
loss.softmax_cross_entropy.SoftmaxCrossEntropy eps = 1e-7
loss.softmax_cross_entropy.SoftmaxCrossEntropy soft_target = xs[1].dtype.kind == 'f'
loss.triplet.Triplet dist_hinge = \
np.maximum(((xs[0] - xs[1]) ** 2 - (xs[0] - xs[2]) ** 2).sum(1) + margin, 0)
math.average.Mean multiplier = ys[0].size / xs[0].size
math.basic_math.PowVarVar y = ys[0]
math.matmul.MatMul transa = transa
math.matmul.MatMul transb = transb
math.matmul.MatMul transc = transc
noise.gaussian.Gaussian noise = np.exp(xs[1] * 0.5) * f.eps
normalization.batch_normalization.BatchNormalization expander = expander(f.axis, xs[0].ndim)
normalization.batch_normalization.BatchNormalization inv_std = (xs[0].var(f.axis) + eps) ** -0.5
normalization.batch_normalization.BatchNormalization mean = xs[0].mean(f.axis)
normalization.batch_normalization.BatchNormalization running_mean = mean
normalization.batch_normalization.BatchNormalization running_var = var
normalization.batch_normalization.BatchNormalization var = xs[0].var(f.axis)
normalization.batch_normalization.FixedBatchNormalization expander = expander(f.axis, xs[0].ndim)
normalization.batch_normalization.FixedBatchNormalization inv_std = (xs[4] + eps) ** -0.5
normalization.batch_normalization.FixedBatchNormalization inv_var = 1 / (xs[4] + eps)
normalization.batch_renormalization.BatchRenormalizationFunction running_mean = mean
normalization.batch_renormalization.BatchRenormalizationFunction running_var = var
pooling.average_pooling_nd.AveragePoolingND return_indices = False
pooling.roi_average_align_2d.ROIAverageAlign2D sampling_ratio = \
as_tuple(sampling_ratio) * (2 - np.ndim(sampling_ratio))
pooling.roi_max_align_2d.ROIMaxAlign2D sampling_ratio = \
as_tuple(sampling_ratio) * (2 - np.ndim(sampling_ratio))
pooling.unpooling_2d.Unpooling2D return_indices = False
pooling.unpooling_nd.UnpoolingND return_indices = False
pooling.upsampling_2d.Upsampling2D return_indices = False
"""

#: Subclasses of Function in Chainer: a call gives a Variable if there is one output, and ``node`` is the node.
OF_OLD_STYLE = """
array.spatial_transformer_grid.SpatialTransformerGrid array.spatial_transformer_sampler.SpatialTransformerSampler
evaluation.binary_accuracy.BinaryAccuracy evaluation.classification_summary.ClassificationSummary
evaluation.r2_score.R2_score loss.ctc.ConnectionistTemporalClassification loss.decov.DeCov loss.hinge.Hinge
normalization.batch_renormalization.BatchRenormalizationFunction pooling.roi_average_align_2d.ROIAverageAlign2D
pooling.roi_average_pooling_2d.ROIAveragePooling2D pooling.roi_max_align_2d.ROIMaxAlign2D
pooling.roi_max_pooling_2d.ROIMaxPooling2D rnn.lstm.LSTMGrad rnn.slstm.SLSTMGrad rnn.tree_lstm.TreeLSTM
"""
