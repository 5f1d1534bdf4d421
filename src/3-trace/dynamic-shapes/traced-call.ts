import { withGradMode } from '../../../runtime/autograd/grad-mode.ts';
import { deviceGuard } from '../../../runtime/device/current.ts';
import type { Device } from '../../../runtime/device/device.ts';
import { formatSpec, type TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import { type UserPosition, withPositionProvider } from '../../../runtime/errors/position.ts';
import { withInterceptor } from '../../../runtime/ops/core/bind.ts';
import { atSampleSizes } from '../../../runtime/ops/loss/unequal-sizes.ts';
import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import type { GivenOperand } from '../../../runtime/program/dynamic-call.ts';
import { writtenInputs } from '../../../runtime/program/writes.ts';
import { PlacedOffset, withRandomSource } from '../../../runtime/random/seed.ts';
import { FailedCheck } from '../../../runtime/run-program/control/assert.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { beginCall, type CallOperand, type CallSite, endCall } from '../../regions/site-call.ts';

import { CallStream, drawsNothing } from './call-stream.ts';

/** A placeholder for an operand in the arguments of a call. */
export class OperandPlace {
  readonly index: number;
  /** True if the operand is a number that represents a boolean. */
  readonly isBoolean: boolean;
  constructor(index: number, isBoolean: boolean) {
    this.index = index;
    this.isBoolean = isBoolean;
  }
}

/** Returns the argument with its placeholders replaced by operands. */
export function placed(value: unknown, operands: readonly unknown[]): unknown {
  if (value instanceof OperandPlace) {
    const operand = operands[value.index];
    return value.isBoolean ? operand !== 0 : operand;
  }
  if (Array.isArray(value)) return value.map((each) => placed(each, operands));
  if (typeof value !== 'object' || value === null) return value;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([key, each]) => [key, placed(each, operands)]));
}

/** A call of the tensor API in the traced code. */
export interface TracedCall extends Pick<CallSite, 'name' | 'forms' | 'metas'> {
  /** Calls the function. Each operand is a tensor, the tensors of a list, or a number. */
  readonly call: (operands: readonly CallOperand[]) => unknown;
  readonly gradMode: boolean;
  /**
   * The random stream before a call that draws numbers: the operands that contain its state, and the count drawn since.
   */
  readonly stream: { readonly operands: readonly number[]; readonly drawn: number } | null;
  readonly device: Device;
  readonly at: UserPosition | undefined;
}

/** The result of a call for particular shapes. */
export interface TriedCall {
  /** The function's result: tensors and arrays of tensors. */
  readonly returned: unknown;
  /** The distinct tensors in it, followed by the count of random numbers if the call draws any. */
  readonly results: readonly Tensor[];
  /** True if a result is a view of an operand in eager execution; here it may be a copy. */
  readonly isView: boolean;
}

/** Thrown if a call has no program for any shapes. */
export class NotDynamic extends Error {
  override readonly name = 'NotDynamic';
}

const noOther = (): never => {
  throw new NotDynamic('takes a tensor that is not one of its operands');
};

/** Calls the function with the shapes of a sample run, and throws what it throws. */
export function tryCall(traced: TracedCall, sample: readonly GivenOperand[]): TriedCall {
  const { builder, operands } = beginCall(traced, sample, noOther);
  const outcome = withInterceptor(builder, () =>
    atSampleSizes(() => appended(traced, operands, builder)),
  );
  const isView = hasView(outcome.results, builder);
  if (writtenInputs(endCall(builder, outcome.results)).length > 0) {
    throw new NotDynamic('writes to a tensor in place');
  }
  return { ...outcome, isView };
}

function hasView(results: readonly Tensor[], builder: ProgramBuilder): boolean {
  return results.some((result) => builder.isInput(builder.rootOf(result)));
}

/** Calls the function and appends its ops to the program under construction. */
function appended(
  { call, gradMode, stream, device, at }: TracedCall,
  operands: readonly CallOperand[],
  builder: ProgramBuilder,
): Pick<TriedCall, 'returned' | 'results'> {
  builder.at = at;
  const numbers = stream?.operands.map((index) => operands[index] as Tensor);
  const drawing = numbers && new CallStream(new PlacedOffset(numbers, stream!.drawn));
  const within = <T>(body: () => T): T =>
    withPositionProvider(
      () => at,
      () =>
        withRandomSource(drawing ?? drawsNothing, () =>
          withGradMode(gradMode, () => deviceGuard(device, body)),
        ),
    );
  const returned = within(() => call(operands));
  const results = [...new Set(tensorsIn(returned))];
  return { returned, results: drawing ? [...results, within(() => drawing.count())] : results };
}

function tensorsIn(result: unknown): Tensor[] {
  if (result instanceof Tensor) return [result];
  if (Array.isArray(result)) return result.flatMap(tensorsIn);
  throw new NotDynamic('returns something other than tensors');
}

/** Known facts about a result; data-dependent sizes are null. */
export interface ResultSizes {
  readonly dtype: TensorMeta['dtype'];
  readonly sizes: readonly (number | null)[];
}

/**
 * Returns a function that performs the call on the operands of any run. `expected`: the sizes of its results, or
 * of each result if their number varies. `mayView`: whether a result may be a view of an operand. Throws FailedCheck with the function's own message.
 */
export function performing(
  traced: TracedCall,
  expected: readonly ResultSizes[] | ResultSizes,
  mayView = true,
): CallSite['perform'] {
  return (operands, builder) => {
    const results = attempted(traced, operands, builder);
    const all = 'sizes' in expected ? results.map(() => expected) : expected;
    const fits = results.length === all.length && results.every((each, i) => isLike(each, all[i]!));
    if (!fits) {
      const found = results.map((result) => formatSpec(result)).join(', ');
      throw refused(traced, `an answer ${found}, of other sizes than it has for other runs`);
    }
    if (!mayView && hasView(results, builder)) {
      throw refused(traced, 'a view, which it does not return for other sizes');
    }
    return results;
  };
}

function isLike({ dtype, shape }: Tensor, { sizes, dtype: known }: ResultSizes): boolean {
  return (
    dtype === known &&
    shape.length === sizes.length &&
    sizes.every((size, dim) => size === null || size === shape[dim])
  );
}

function attempted(
  traced: TracedCall,
  operands: readonly CallOperand[],
  builder: ProgramBuilder,
): readonly Tensor[] {
  try {
    return appended(traced, operands, builder).results;
  } catch (error) {
    throw refused(traced, error instanceof Error ? error.message : String(error));
  }
}

function refused({ name, at }: TracedCall, given: string): FailedCheck {
  return new FailedCheck({
    what: `${name}: a program can't go on with the shapes of this run`,
    given,
    expected: 'shapes for which the function does not throw',
    remedy: 'see the call there',
    at,
  });
}
