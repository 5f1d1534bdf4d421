import { withGradMode } from '../../../runtime/autograd/grad-mode.ts';
import { deviceGuard } from '../../../runtime/device/current.ts';
import type { Device } from '../../../runtime/device/device.ts';
import { formatSpec, type TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import { type UserPosition, withPositionProvider } from '../../../runtime/errors/position.ts';
import { withInterceptor } from '../../../runtime/ops/core/bind.ts';
import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import type { GivenOperand } from '../../../runtime/program/dynamic-call.ts';
import { writtenInputs } from '../../../runtime/program/writes.ts';
import { PlacedOffset, withRandomSource } from '../../../runtime/random/seed.ts';
import { FailedCheck } from '../../../runtime/run-program/control/assert.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { beginCall, type CallOperand, type CallSite, endCall } from '../../regions/site-call.ts';

import { CallStream, drawsNothing } from './call-stream.ts';

/** Among the arguments of a call: one of its operands. */
export class OperandPlace {
  readonly index: number;
  /** The operand is a number that represents a boolean. */
  readonly isBoolean: boolean;
  constructor(index: number, isBoolean: boolean) {
    this.index = index;
    this.isBoolean = isBoolean;
  }
}

/** The argument with operands in their places. */
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

/** One call of the tensor API in the code. */
export interface TracedCall extends Pick<CallSite, 'name' | 'forms' | 'metas'> {
  /** Gets, per operand: a tensor, the tensors of a list, or a number; returns what the function returns. */
  readonly call: (operands: readonly CallOperand[]) => unknown;
  readonly gradMode: boolean;
  /** The state of the random stream before a call that draws numbers, and the operands that hold it. */
  readonly stream: { readonly operands: readonly number[]; readonly drawn: number } | null;
  readonly device: Device;
  readonly at: UserPosition | undefined;
}

/** A call's result for some shapes. */
export interface TriedCall {
  /** The function's result: tensors, and arrays of tensors. */
  readonly answer: unknown;
  /** The tensors in it, each once; after them how many random numbers were drawn, where it draws some. */
  readonly results: readonly Tensor[];
  /** Some result is a view of an operand eagerly; here it may be a copy. */
  readonly isView: boolean;
}

/** Why a call has no program, whatever its shapes are. */
export class NotDynamic extends Error {
  override readonly name = 'NotDynamic';
}

const noOther = (): never => {
  throw new NotDynamic('takes a tensor that is not one of its operands');
};

/** Throws what the function throws for these shapes. */
export function tryCall(traced: TracedCall, given: readonly GivenOperand[]): TriedCall {
  const { builder, operands } = beginCall(traced, given, noOther);
  const made = withInterceptor(builder, () => answered(traced, operands, builder));
  const isView = made.results.some((result) => builder.isInput(builder.rootOf(result)));
  if (writtenInputs(endCall(builder, made.results)).length > 0) {
    throw new NotDynamic('writes to a tensor in place');
  }
  return { ...made, isView };
}

/** The function called as it stands there, its ops in the program that is being built. */
function answered(
  { call, gradMode, stream, device, at }: TracedCall,
  operands: readonly CallOperand[],
  builder: ProgramBuilder,
): Pick<TriedCall, 'answer' | 'results'> {
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
  const answer = within(() => call(operands));
  const results = [...new Set(tensorsIn(answer))];
  return { answer, results: drawing ? [...results, within(() => drawing.count())] : results };
}

function tensorsIn(answer: unknown): Tensor[] {
  if (answer instanceof Tensor) return [answer];
  if (Array.isArray(answer)) return answer.flatMap(tensorsIn);
  throw new NotDynamic('returns something other than tensors');
}

/** The known facts about a result: null for sizes that depend on a run's data. */
export interface ResultSizes {
  readonly dtype: TensorMeta['dtype'];
  readonly sizes: readonly (number | null)[];
}

/** The call for any operands that a run has; `expected`: of its results, or of each of any number. Throws FailedCheck, with what the function says to it. */
export function performing(
  traced: TracedCall,
  expected: readonly ResultSizes[] | ResultSizes,
): CallSite['perform'] {
  return (operands, builder) => {
    const results = attempted(traced, operands, builder);
    const all = 'sizes' in expected ? results.map(() => expected) : expected;
    const fits = results.length === all.length && results.every((each, i) => isLike(each, all[i]!));
    if (!fits) {
      const found = results.map((result) => formatSpec(result)).join(', ');
      throw refused(traced, `an answer ${found}, of other sizes than it has for other runs`);
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
    return answered(traced, operands, builder).results;
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
