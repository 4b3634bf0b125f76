"""Extensions of a trainer, which run between updates."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.training.extension import Extension as Extension
from minichainer.training.extension import make_extension as make_extension
from minichainer.training.extensions import snapshot_writers as snapshot_writers
from minichainer.training.extensions._snapshot import snapshot as snapshot
from minichainer.training.extensions._snapshot import snapshot_object as snapshot_object
from minichainer.training.extensions.computational_graph import DumpGraph as DumpGraph
from minichainer.training.extensions.evaluator import Evaluator as Evaluator
from minichainer.training.extensions.fail_on_nonnumber import FailOnNonNumber as FailOnNonNumber
from minichainer.training.extensions.log_report import LogReport as LogReport
from minichainer.training.extensions.micro_average import MicroAverage as MicroAverage
from minichainer.training.extensions.parameter_statistics import ParameterStatistics as ParameterStatistics
from minichainer.training.extensions.plot_report import PlotReport as PlotReport
from minichainer.training.extensions.print_report import PrintReport as PrintReport
from minichainer.training.extensions.progress_bar import ProgressBar as ProgressBar
from minichainer.training.extensions.shifts import ExponentialShift as ExponentialShift
from minichainer.training.extensions.shifts import InverseShift as InverseShift
from minichainer.training.extensions.shifts import LinearShift as LinearShift
from minichainer.training.extensions.shifts import MultistepShift as MultistepShift
from minichainer.training.extensions.shifts import PolynomialShift as PolynomialShift
from minichainer.training.extensions.shifts import StepShift as StepShift
from minichainer.training.extensions.shifts import WarmupShift as WarmupShift
from minichainer.training.extensions.unchain_variables import unchain_variables as unchain_variables
from minichainer.training.extensions.value_observation import observe_lr as observe_lr
from minichainer.training.extensions.value_observation import observe_value as observe_value
from minichainer.training.extensions.variable_statistics_plot import VariableStatisticsPlot as VariableStatisticsPlot

#: The name of :class:`DumpGraph` in Chainer 2.
dump_graph = DumpGraph

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__, ['snapshot_writers'])
