import { CheckError } from '../../runtime/errors/errors.ts';
import { findCulprit } from './culprit.ts';
import { firstValueThatDiffers } from './first-value.ts';
import type { Difference, Outcome } from './outcome.ts';
import type { Reading } from './reading.ts';
import type { BackwardCall, Scenario } from './scenario.ts';
import type { CompiledFrom } from './sources.ts';

/** Returns the error for a difference: names the pass or switch that causes it, and the first value that differs. */
export function* checkError(
  source: CompiledFrom,
  scenario: Scenario,
  call: BackwardCall | null,
  expected: Outcome,
  difference: Difference,
): Reading<CheckError> {
  const found = yield* findCulprit(source, scenario, call, expected);
  const value = found ? yield* firstValueThatDiffers(source, found.index, scenario, call) : null;
  const program = call ? 'the backward of a compiled program' : 'a compiled program';
  const maker = found
    ? `; ${found.suspect.name} makes the difference`
    : '; repeated, the run has no difference: it depends on what was in memory, or ran before';
  const first = value ? `; the first value that differs is the result of ${value.op}` : '';
  return new CheckError({
    what: `check: ${program} differs from its traced program${maker}${first}`,
    given: `${difference.of}: ${difference.given}`,
    expected: difference.expected,
    remedy: found
      ? `until this is mended: toStatic(fn, { ${found.suspect.option} }); please report it with the function`
      : 'please report it with the function',
    cause: expected.error ?? undefined,
    ...(value?.at && { at: value.at }),
    culprit: found?.suspect.name.split("'")[1] ?? found?.suspect.name ?? null,
    value,
  });
}
