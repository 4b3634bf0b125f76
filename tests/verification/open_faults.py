"""Tests that fail, by what is missing. Whoever repairs it takes the name out: such a test must not pass unseen."""

from __future__ import annotations

#: What is missing, and the tests, as ``module::name``.
OPEN: dict[str, tuple[str, ...]] = {
    'None that is not handled is refused': (
        'test_styles_of_others::test_a_gradient_that_is_not_handled_as_none_is_named',
    ),
    'elements that a check does not vouch for are not listed': (
        'test_strangers_wrong::test_a_fault_in_a_small_element_is_found_or_not_vouched_for[False-float32]',
    ),
    'inputs and link in one dtype': ('test_strangers::test_float64_inputs_of_float32_links[BatchNormalization]',),
    'layouts that a function does not take are not noted': (
        'test_strangers_wrong::test_a_layout_that_the_function_does_not_take_is_a_note',
    ),
    'partners are not frozen in turn': (
        'test_strangers_wrong::test_a_gradient_that_is_lost_when_the_partner_is_frozen[a raw array]',
    ),
    'plateaus of functions that compute in a low precision': (
        'test_strangers_wrong::test_a_lost_gradient_is_found_whatever_the_precision_inside[None-sum-e-5-check_backward]',
        'test_strangers_wrong::test_a_lost_gradient_is_found_whatever_the_precision_inside[None-sum-e-5-check_gradients]',
        'test_strangers_wrong::test_a_lost_gradient_is_found_whatever_the_precision_inside[zeros-sum-e-5-check_backward]',
        'test_strangers_wrong::test_a_lost_gradient_is_found_whatever_the_precision_inside[zeros-sum-e-5-check_gradients]',
        'test_strangers_wrong::test_the_report_states_the_precision_that_was_seen[e]',
        'test_strangers_wrong::test_the_report_states_the_precision_that_was_seen[f]',
    ),
    'rounding of float32 is estimated for the whole array': (
        'test_strangers::test_saturated_functions_pass_in_float32[saturated sigmoid]',
        'test_strangers::test_saturated_functions_pass_in_float32[saturated softmax]',
        'test_strangers::test_saturated_functions_pass_in_float32[saturated tanh of normal]',
    ),
    'rounding of subnormal numbers is absolute': (
        'test_strangers::test_subnormal_gradients_pass[subnormal softmax of linear, 50 digits]',
        'test_strangers::test_subnormal_gradients_pass[subnormal softmax of linear, floats]',
    ),
    'the campaign refuses a right function or misses its twin': (
        'test_magnitudes::test_right_functions_pass_and_their_twins_fail[26]',
        'test_magnitudes::test_right_functions_pass_and_their_twins_fail[33]',
        'test_magnitudes::test_right_functions_pass_and_their_twins_fail[51]',
    ),
}
REASONS = {name: reason for reason, names in OPEN.items() for name in names}
