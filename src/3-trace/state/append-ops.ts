/** Runs functions of the tensor API so that the ops they bind are appended to the program under construction. */

import { withGradMode } from '../../../runtime/autograd/grad-mode.ts';
import { guardingDevice, withGuard } from '../../../runtime/device/current.ts';
import { withPositionProvider } from '../../../runtime/errors/position.ts';
import { withInterceptor } from '../../../runtime/ops/core/bind.ts';
import { guardedOps } from '../../../runtime/ops/core/guarded-op.ts';
import { withRandomSource } from '../../../runtime/random/seed.ts';
import { mayCatchRejection } from './exceptions.ts';
import { errorPositionIn } from './position.ts';
import type { Tracer } from './tracer.ts';

/** Appends all ops that `body` binds, or none if it throws. */
export function appendOps<T>(t: Tracer, body: () => T): T {
  const { builder } = t;
  const checkpoint = builder.checkpoint();
  const undraw = t.random.checkpoint();
  builder.at = t.position();
  const before = guardedOps();
  try {
    const result = withPositionProvider(
      () => errorPositionIn(t.frames),
      () => withInterceptor(builder, () => withRandomSource(t.random, () => inModes(t, body))),
    );
    if (builder.opCount > checkpoint.ops) t.sites.noteOp(t.frames);
    t.control.copied.track(t.surroundings, checkpoint.ops);
    t.catchesRejection ||= mayCatchRejection(t, checkpoint.ops);
    return result;
  } catch (error) {
    builder.rollback(checkpoint);
    // If the call runs natively, it draws its numbers itself.
    undraw();
    throw error;
  } finally {
    if (guardedOps() > before && t.top.guard === undefined) guardOpDevice(t);
  }
}

/** Returns the error that `body` throws, or undefined. Appends nothing. */
export function errorOf(t: Tracer, body: () => unknown): unknown {
  // A call may draw random numbers before it throws.
  const mark = t.journal.open();
  return t.builder.trial(() => {
    try {
      appendOps(t, body);
      return undefined;
    } catch (error) {
      return error;
    } finally {
      t.journal.undo(mark);
      t.journal.close();
    }
  });
}

/** Runs `body` in the modes set by `noGrad`, `enableGrad` and `deviceGuard` in the traced code. */
function inModes<T>(t: Tracer, body: () => T): T {
  const { guard, gradMode } = t.top;
  return withGuard(guard, () => withGradMode(gradMode, body));
}

/** Guards the device guard of the call, which determines where ops are computed. */
export function guardOpDevice(t: Tracer): void {
  t.guard('op device', { kind: 'opDevice', device: guardingDevice() });
}
