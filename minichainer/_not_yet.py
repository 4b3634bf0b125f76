"""Names of Chainer 7.8.1 that are still to come, by package; written by ``make docs``."""

NOT_YET = {
    'minichainer': """
        Distribution computational_graph cross_entropy distribution distributions function_hooks kl_divergence
        register_kl warnings
    """,
    'minichainer.dataset': """
        TabularDataset tabular
    """,
    'minichainer.datasets': """
        ImageDataset LabeledImageDataset LabeledZippedImageDataset MultiZippedImageDataset PickleDataset
        PickleDatasetWriter TextDataset ZippedImageDataset get_cifar10 get_cifar100 get_fashion_mnist
        get_fashion_mnist_labels get_kuzushiji_mnist get_kuzushiji_mnist_labels get_mnist get_ptb_words
        get_ptb_words_vocabulary get_svhn open_pickle_dataset open_pickle_dataset_writer
    """,
    'minichainer.iterators': """
        MultiprocessIterator
    """,
    'minichainer.links': """
        GoogLeNet ResNet101Layers ResNet152Layers ResNet50Layers VGG16Layers VGG19Layers
    """,
    'minichainer.training': """
        ParallelUpdater
    """,
    'minichainer.training.extensions': """
        DumpGraph VariableStatisticsPlot dump_graph
    """,
    'minichainer.training.updaters': """
        MultiprocessParallelUpdater ParallelUpdater
    """,
}
