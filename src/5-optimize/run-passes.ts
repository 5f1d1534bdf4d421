import { oncePerProgram } from '../../runtime/program/program.ts';
import { verifyProgram } from '../../runtime/program/verify/verify.ts';
import type { PassSettings } from '../programs/pass-record.ts';
import { hasSameOps } from '../programs/same-ops.ts';
import type { Steps } from '../programs/steps.ts';
import type { PassContext, Staged } from './facts/pass.ts';
import { SharedPasses } from './facts/shared-passes.ts';
import { passes } from './passes.ts';

/**
 * Runs the passes of one stage in order. `settings` disables passes, receives a record of each run, and may observe the
 * program after it. A program's bytes are counted once for all passes; `shared` caches results across the candidates of
 * a compilation.
 */
export function* runPasses(
  staged: Staged,
  uncounted: PassContext,
  settings: PassSettings,
  shared = new SharedPasses(),
): Steps<Staged> {
  const context = { ...uncounted, costOf: oncePerProgram(uncounted.costOf) };
  let [current, isVerified] = [staged, false];
  for (const pass of passes) {
    const stages: readonly string[] = pass.stages;
    if (!stages.includes(context.stage) || settings.without.has(pass.name)) continue;
    if ('enabled' in pass && !pass.enabled(context)) continue;
    const [after, ms] = yield* timed(shared.after(pass, current, context));
    const [{ program: before }, { program }] = [current, after];
    // A pass may return the same ops in a new list.
    const applied = !hasSameOps(before, program);
    settings.record({ pass: pass.name, stage: context.stage, applied, ms, before, program });
    if (settings.verify && (applied || !isVerified)) {
      verifyProgram(program, context.available);
      isVerified = true;
    }
    current = applied ? after : current;
    yield;
  }
  return current;
}

/** Returns the result of a pass and the milliseconds that its steps took. */
function* timed(steps: Steps<Staged>): Steps<readonly [Staged, number]> {
  let ms = 0;
  for (;;) {
    const before = performance.now();
    const { done, value } = steps.next();
    ms += performance.now() - before;
    if (done) return [value, ms];
    yield;
  }
}
