"""Names of Chainer 7.8.1 that are still to come, by package; written by ``make docs``."""

NOT_YET = {
    'minichainer': """
        Distribution cross_entropy distribution distributions kl_divergence link_hooks register_kl
    """,
    'minichainer.iterators': """
        MultiprocessIterator
    """,
    'minichainer.links': """
        Bias BinaryHierarchicalSoftmax BlackOut CRF1d DeformableConvolution2D DepthwiseConvolution2D
        DilatedConvolution2D GoogLeNet Highway InceptionBN LocalConvolution2D MLPConvolution2D Maxout
        NegativeSampling Parameter ResNet101Layers ResNet152Layers ResNet50Layers Scale SimplifiedDropconnect
        Swish VGG16Layers VGG19Layers
    """,
    'minichainer.training': """
        ParallelUpdater
    """,
    'minichainer.training.updaters': """
        MultiprocessParallelUpdater ParallelUpdater
    """,
}
