"""Old files: loading with a report, formats by content, pickles, conversion. `files/make.py` made the files."""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import training
from minichainer.compat import files
from minichainer.compat.__main__ import main
from minichainer.compat.files.formats import format_of
from minichainer.serializer import SnapshotError
from minichainer.training import extensions
from tests.links.caffe_files import layer as caffe_layer
from tests.links.caffe_files import write as write_caffe

HERE = Path(__file__).parent / 'files'
SNAPSHOTS = Path(__file__).parent.parent / 'reference' / 'snapshots'


def make_model() -> Any:
    return L.Classifier(chainer.Sequential(L.Linear(4, 5), F.tanh, L.Linear(5, 3)))


def make_chain() -> Any:
    return chainer.Chain(conv=L.Convolution2D(2, 3, 3, pad=1), bn=L.BatchNormalization(3), fc=L.Linear(48, 2))


def make_trainer(tmp_path: Path, epochs: int) -> Any:
    x = np.random.RandomState(2).rand(12, 4).astype(np.float32)
    t = np.arange(12, dtype=np.int32) % 3
    iterator = chainer.iterators.SerialIterator(chainer.datasets.TupleDataset(x, t), 4, shuffle=False)
    optimizer = chainer.optimizers.Adam().setup(make_model())
    updater = training.StandardUpdater(iterator, optimizer)
    trainer = training.Trainer(updater, (epochs, 'epoch'), out=str(tmp_path))
    trainer.extend(extensions.LogReport(trigger=(1, 'epoch'), filename=None))
    return trainer


def values(link: Any) -> dict[str, Any]:
    saved = chainer.serializers.DictionarySerializer()
    saved.save(link)
    return saved.target


def same(a: Any, b: Any) -> bool:
    a, b = values(a), values(b)
    return set(a) == set(b) and all((a[name] == b[name]).all() for name in a)


@pytest.fixture
def trained() -> Any:
    model = make_model()
    chainer.serializers.load_npz(str(HERE / 'trainer.npz'), model, path='updater/model:main/')
    return model


# --- links ---


def test_model_of_a_trainer_snapshot(trained: Any) -> None:
    model = make_model()
    report = files.load(HERE / 'trainer.npz', model)
    assert report.part == 'updater/model:main/'
    assert sorted(report.loaded) == sorted(f'updater/model:main/{name}' for name in values(model))
    assert report.complete and same(model, trained)


def test_predictor_of_a_trainer_snapshot(trained: Any) -> None:
    predictor = make_model().predictor
    report = files.load(HERE / 'trainer.npz', predictor)
    assert report.part == 'updater/model:main/predictor/'
    assert report.complete and same(predictor, trained.predictor)


def test_classifier_from_a_file_of_the_predictor(tmp_path: Path, trained: Any) -> None:
    chainer.serializers.save_npz(tmp_path / 'p.npz', trained.predictor)
    model = make_model()
    report = files.load(tmp_path / 'p.npz', model)
    assert (report.part, report.into) == ('', 'predictor/')
    assert report.complete and same(model, trained)


def test_what_does_not_fit_is_named(tmp_path: Path) -> None:
    saved = chainer.Chain(l1=L.Linear(2, 3), l2=L.Linear(3, 4), l_3=L.Linear(4, 5))
    chainer.serializers.save_npz(tmp_path / 'a.npz', saved)
    model = chainer.Chain(l1=L.Linear(2, 3), l2=L.Linear(3, 7), l3=L.Linear(4, 5))
    l3 = model.l3.W.array.copy()
    report = files.load(tmp_path / 'a.npz', model)
    assert sorted(report.loaded) == ['l1/W', 'l1/b']
    assert (model.l1.W.array == saved.l1.W.array).all() and (model.l3.W.array == l3).all()
    assert report.missing['l3/W'][0] == 'l_3/W'
    assert report.unexpected == ['l_3/W', 'l_3/b']
    assert 'shape (4, 3) in the snapshot, (7, 3) in the object' in report.skipped['l2/W']
    text = str(report)
    assert 'missing: l3/W (the file has l_3/W' in text and 'unexpected: l_3/b' in text and 'skipped: l2/b' in text


def test_strict_changes_nothing(tmp_path: Path) -> None:
    chainer.serializers.save_npz(tmp_path / 'a.npz', chainer.Chain(l1=L.Linear(2, 3), x=L.Linear(2, 2)))
    model = chainer.Chain(l1=L.Linear(2, 3))
    before = model.l1.W.array.copy()
    with pytest.raises(SnapshotError, match='unexpected: x/W'):
        files.load(tmp_path / 'a.npz', model, strict=True)
    assert (model.l1.W.array == before).all()
    assert files.load(tmp_path / 'a.npz', L.Linear(2, 3), part='l1/', strict=True).complete


def test_two_models_that_fit_equally(tmp_path: Path) -> None:
    both = chainer.Chain(a=chainer.Chain(l=L.Linear(2, 3)), b=chainer.Chain(l=L.Linear(2, 3)))
    chainer.serializers.save_npz(tmp_path / 'a.npz', both)
    model = chainer.Chain(l=L.Linear(2, 3))
    with pytest.raises(SnapshotError, match="name one by part=: 'a/', 'b/'"):
        files.load(tmp_path / 'a.npz', model)
    assert files.load(tmp_path / 'a.npz', model, part='b/').complete
    assert same(model, both.b)


def test_parameters_without_a_shape_are_made(tmp_path: Path, trained: Any) -> None:
    model = L.Classifier(chainer.Sequential(L.Linear(None, 5), F.tanh, L.Linear(None, 3)))
    assert files.load(HERE / 'trainer.npz', model).complete
    assert same(model, trained)


@pytest.mark.parametrize('name', ['mlp', 'cnn', 'nested', 'lazy', 'encoder', 'lm'])
def test_npz_and_h5_have_the_same_entries(name: str) -> None:
    pytest.importorskip('h5py', reason='HDF5 needs h5py')
    from minichainer.compat.files.formats import opened

    found = []
    for suffix in ('npz', 'h5'):
        with opened(SNAPSHOTS / f'{name}.{suffix}') as (kind, source):
            assert kind == suffix
            found.append({n: source.find(n) for n in source.names()})
            arrays = {n: None if e.shape is None else np.asarray(e.read()) for n, e in found[-1].items()}
            found[-1] = arrays
    assert set(found[0]) == set(found[1])
    for entry, value in found[0].items():
        assert np.array_equal(value, found[1][entry]), entry


# --- formats ---


def test_an_h5_that_is_an_npz_and_the_other_way_round(tmp_path: Path) -> None:
    pytest.importorskip('h5py', reason='HDF5 needs h5py')
    saved = L.Linear(3, 2)
    chainer.serializers.save_npz(tmp_path / 'a.h5', saved)
    chainer.serializers.save_hdf5(tmp_path / 'a.npz', saved)
    for name, kind in [('a.h5', 'npz'), ('a.npz', 'h5')]:
        link = L.Linear(3, 2)
        report = files.load(tmp_path / name, link, strict=True)
        assert report.format == kind and same(link, saved)


BEGINNINGS = {
    'npy': (b'\x93NUMPY\x01\x00', 'npy', 'numpy.load'),
    'text': (b'hello, this is text', 'unknown', 'expected a .npz'),
    'empty': (b'', 'unknown', 'expected a .npz'),
    'pickle': (b'\x80\x02K\x01.', 'pickle', 'unsafe=True'),
    'damaged zip': (b'PK\x03\x04abc', 'npz', 'not a .npz file'),
    'damaged hdf5': (b'\x89HDF\r\n\x1a\nabc', 'h5', 'damaged'),
    'damaged safetensors': (b'\x02\0\0\0\0\0\0\0{}abc', 'safetensors', 'damaged'),
}


@pytest.mark.parametrize(('content', 'kind', 'text'), BEGINNINGS.values(), ids=BEGINNINGS)
def test_files_that_cannot_be_loaded(content: bytes, kind: str, text: str, tmp_path: Path) -> None:
    pytest.importorskip('h5py', reason='HDF5 needs h5py')
    pytest.importorskip('safetensors', reason='needs the extra `safetensors`')
    path = tmp_path / 'model.npz'
    path.write_bytes(content)
    assert format_of(path) == kind
    with pytest.raises(SnapshotError, match=text):
        files.load(path, L.Linear(2, 3))


def test_missing_file() -> None:
    with pytest.raises(FileNotFoundError):
        files.load('no_such_file.npz', L.Linear(2, 3))


# --- trainers and optimizers ---


def test_v1_trainer_snapshot_resumes(tmp_path: Path) -> None:
    """A run that is resumed from a snapshot of Chainer 1 equals one resumed from the same of Chainer 7."""
    plain, old = make_trainer(tmp_path, 4), make_trainer(tmp_path, 4)
    chainer.serializers.load_npz(str(HERE / 'trainer.npz'), plain)
    with pytest.raises(SnapshotError):
        chainer.serializers.load_npz(str(HERE / 'trainer_v1.npz'), make_trainer(tmp_path, 4))
    report = files.load(HERE / 'trainer_v1.npz', old)
    counts = {name: how for name, how in report.filled.items() if name.endswith('/t')}
    assert counts == {
        f'updater/optimizer:main/predictor/{layer}/{p}/t': 'the count of the optimizer, updater/optimizer:main/t'
        for layer in (0, 1)
        for p in 'Wb'
    }
    assert report.filled['updater/iterator:main/previous_epoch_detail'] == 'computed from the epoch'
    assert not report.skipped
    for trainer in (plain, old):
        trainer.run()
    assert old.updater.iteration == plain.updater.iteration == 12
    assert same(old.updater.get_optimizer('main').target, plain.updater.get_optimizer('main').target)


def test_optimizer_of_a_v1_trainer_snapshot() -> None:
    optimizer = chainer.optimizers.Adam().setup(make_model())
    report = files.load(HERE / 'trainer_v1.npz', optimizer)
    assert report.part == 'updater/optimizer:main/'
    assert optimizer.t == 6
    assert {p.update_rule.t for p in optimizer.target.params()} == {6}
    with np.load(HERE / 'trainer.npz', allow_pickle=True) as file:
        expected = file['updater/optimizer:main/predictor/0/W/m']
    assert (optimizer.target.predictor[0].W.update_rule.state['m'] == expected).all()


# --- pickles ---


def test_pickles_are_refused_unless_unsafe() -> None:
    for call in (
        lambda: files.load(HERE / 'chain.pkl', make_chain()),
        lambda: files.load_pickle(HERE / 'chain.pkl'),
    ):
        with pytest.raises(SnapshotError, match=r'is a pickle, which can name any class.*unsafe=True'):
            call()


def test_weights_of_a_pickled_model() -> None:
    model, expected = make_chain(), make_chain()
    chainer.serializers.load_npz(str(HERE / 'chain.npz'), expected)
    report = files.load(HERE / 'chain.pkl', model, unsafe=True, strict=True)
    assert report.format == 'pickle' and same(model, expected)


def test_a_pickled_model_is_made() -> None:
    expected = make_chain()
    chainer.serializers.load_npz(str(HERE / 'chain.npz'), expected)
    model, made = files.load_pickle(HERE / 'chain.pkl', unsafe=True)
    assert same(model, expected)
    assert 'chainer.links.connection.convolution_2d.Convolution2D' in made
    x = np.random.RandomState(0).rand(2, 2, 4, 4).astype(np.float32)
    with chainer.using_config('train', False):
        y, z = (m.fc(F.relu(m.bn(m.conv(x)))).array for m in (model, expected))
    assert (y == z).all()


def test_pickle_of_chainer_1_0(tmp_path: Path) -> None:
    model, made = files.load_pickle(HERE / 'v1.pkl', unsafe=True)
    assert type(model) is chainer.Chain
    assert type(model.conv) is L.Convolution2D and type(model.fc) is L.Linear
    assert 'chainer.function_set.FunctionSet' in made
    y = model.fc(model.conv(np.ones((1, 1, 4, 4), np.float32)))
    window = np.arange(18, dtype=np.float32).reshape(2, 9).sum(axis=1) + 1
    assert np.allclose(y.array, np.full((1, 3), 4 * window.sum()))
    into = chainer.Chain(conv=L.Convolution2D(1, 2, 3), fc=L.Linear(8, 3))
    assert files.load(HERE / 'v1.pkl', into, unsafe=True).complete


class _Command:
    """A pickle that runs a command when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_nothing_that_a_pickle_names_is_run(tmp_path: Path) -> None:
    path = tmp_path / 'evil.pkl'
    path.write_bytes(pickle.dumps({'model': _Command(tmp_path / 'made')}, protocol=2))
    with pytest.raises(SnapshotError, match='no link with parameters'):
        files.load(path, L.Linear(2, 3), unsafe=True)
    assert not (tmp_path / 'made').exists()
    pickle.loads(path.read_bytes())
    assert (tmp_path / 'made').exists(), 'it would have been run'


class Net(chainer.Chain):
    def __init__(self, n: int) -> None:
        super().__init__(l1=L.Linear(n, 3))
        self.scale = 2.5
        self.add_persistent('count', np.array([4]))


@pytest.mark.parametrize('protocol', range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_classes_of_the_user(protocol: int, tmp_path: Path) -> None:
    net = Net(2)
    path = tmp_path / 'net.pkl'
    path.write_bytes(pickle.dumps(net, protocol))
    with pytest.raises(SnapshotError, match=r"classes=\{'Net': Net\}"):
        files.load_pickle(path, unsafe=True)
    loaded, made = files.load_pickle(path, unsafe=True, classes={'Net': Net})
    assert type(loaded) is Net and loaded.scale == 2.5 and same(loaded, net)
    assert any(name.endswith('.Net') for name in made)


def test_damaged_pickle(tmp_path: Path) -> None:
    path = tmp_path / 'a.pkl'
    path.write_bytes((HERE / 'chain.pkl').read_bytes()[:500])
    with pytest.raises(SnapshotError, match='cannot be read'):
        files.load_pickle(path, unsafe=True)


# --- conversion ---


@pytest.mark.parametrize('to', ['npz', 'h5', 'safetensors'])
def test_convert(to: str, tmp_path: Path, trained: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip({'h5': 'h5py'}.get(to, to) if to != 'npz' else 'numpy', reason=f'{to} is an extra')
    output = tmp_path / f'model.{to}'
    command = ['convert', str(HERE / 'trainer.npz'), '-o', str(output), '--part', 'updater/model:main/']
    assert main(command) == 0
    assert f'({to}): 4 entries' in capsys.readouterr().out
    assert format_of(output) == to
    model = make_model()
    assert files.load(output, model, strict=True).complete
    assert same(model, trained)


def test_convert_a_whole_snapshot_to_safetensors(tmp_path: Path) -> None:
    library = pytest.importorskip('safetensors.numpy', reason='needs the extra `safetensors`')
    shutil.copy(HERE / 'trainer.npz', tmp_path / 'a.npz')
    assert main(['convert', str(tmp_path / 'a.npz'), '--to', 'safetensors']) == 0
    arrays = library.load_file(tmp_path / 'a.safetensors')
    with np.load(HERE / 'trainer.npz', allow_pickle=True) as file:
        numbers = {name for name in file.files if file[name].dtype.kind in 'biuf'}
        assert set(arrays) == numbers
        assert all((arrays[name] == file[name]).all() and arrays[name].shape == file[name].shape for name in numbers)


def test_convert_a_pickle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = str(tmp_path / 'a.npz')
    assert main(['convert', str(HERE / 'v1.pkl'), '-o', output]) == 2
    assert '--unsafe' in capsys.readouterr().err
    assert main(['convert', str(HERE / 'v1.pkl'), '-o', output, '--unsafe']) == 0
    model = chainer.Chain(conv=L.Convolution2D(1, 2, 3), fc=L.Linear(8, 3))
    chainer.serializers.load_npz(output, model)
    assert model.conv.W.array[1, 0, 2, 2] == 17


def test_convert_a_model_of_caffe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip('google.protobuf', reason='needs the extra `caffe`')
    W, b, fc = (np.random.RandomState(0).rand(*shape).astype('f') for shape in [(3, 2, 3, 3), (3,), (4, 12)])
    layers = [
        caffe_layer(
            'Convolution', 'a/conv', 'x', 'h', [W, b], convolution_param={'num_output': 3, 'kernel_size': [3]}
        ),
        caffe_layer('InnerProduct', 'fc', 'h', 'y', [fc], inner_product_param={'num_output': 4, 'bias_term': False}),
    ]
    path = write_caffe(tmp_path / 'net.caffemodel', *layers)
    assert main(['convert', str(path), '-o', str(tmp_path / 'net.npz')]) == 0
    assert '(caffemodel) →' in capsys.readouterr().out
    with np.load(tmp_path / 'net.npz') as saved:
        assert set(saved.files) == {'a/conv/W', 'a/conv/b', 'fc/W'}
        assert (saved['a/conv/W'] == W).all() and (saved['a/conv/b'] == b).all() and (saved['fc/W'] == fc).all()
    model = chainer.Chain(fc=L.Linear(12, 4, nobias=True))
    report = files.load(path, model)
    assert (report.format, report.loaded) == ('caffemodel', ['fc/W']) and (model.fc.W.array == fc).all()


def test_convert_refuses_what_is_no_model_of_caffe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip('google.protobuf', reason='needs the extra `caffe`')
    path = tmp_path / 'a.caffemodel'
    path.write_bytes(b'\n\x10not complete')
    assert main(['convert', str(path)]) == 2
    assert 'not a model of Caffe, or not complete' in capsys.readouterr().err
    assert not path.with_suffix('.npz').exists()


REFUSED = {
    'no such part': (['--part', 'nothing/'], 'no entries under nothing/'),
    'itself': (['-o', '{file}'], 'is the file itself'),
}


@pytest.mark.parametrize(('options', 'text'), REFUSED.values(), ids=REFUSED)
def test_convert_refuses(
    options: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    path = tmp_path / 'a.npz'
    shutil.copy(HERE / 'chain.npz', path)
    before = path.read_bytes()
    options = ['-o', str(tmp_path / 'b.npz')] * ('-o' not in options) + [o.format(file=path) for o in options]
    assert main(['convert', str(path), *options]) == 2
    assert text in capsys.readouterr().err
    assert path.read_bytes() == before and not (tmp_path / 'b.npz').exists()
