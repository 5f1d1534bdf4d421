import { withGradMode } from '../../../runtime/autograd/grad-mode.ts';
import { deviceGuard } from '../../../runtime/device/current.ts';
import type { Device } from '../../../runtime/device/device.ts';
import { type UserPosition, withPositionProvider } from '../../../runtime/errors/position.ts';
import { withInterceptor } from '../../../runtime/ops/bind.ts';
import { contiguous } from '../../../runtime/ops/movement.ts';
import { ProgramBuilder } from '../../../runtime/program/builder.ts';
import type { GivenOperand, OperandForm } from '../../../runtime/program/dynamic-call.ts';
import { elementSpec } from '../../../runtime/program/list-ops.ts';
import type { Program } from '../../../runtime/program/program.ts';
import { writtenInputs } from '../../../runtime/program/writes.ts';
import { type RandomSource, withRandomSource } from '../../../runtime/random/seed.ts';
import { FailedCheck } from '../../../runtime/run-program/control/assert.ts';
import { contiguousMeta, formatSpec, type TensorMeta } from '../../../runtime/tensor/meta.ts';
import type { Shape } from '../../../runtime/tensor/shape.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';

/** Among the arguments of a call: one of its operands. */
export class OperandPlace {
  readonly index: number;
  constructor(index: number) {
    this.index = index;
  }
}

/** One call of the tensor API, to be made again for the shapes of a run. */
export interface CallSite {
  readonly name: string;
  readonly forms: readonly OperandForm[];
  /** Per operand, as the program around knows it. */
  readonly metas: readonly TensorMeta[];
  /** Gets, per operand: a tensor, the tensors of a list, or a number. */
  readonly perform: (operands: readonly unknown[]) => unknown;
  readonly gradMode: boolean;
  readonly device: Device;
  readonly at: UserPosition | undefined;
}

/** A program of the call for some shapes. */
export interface BuiltCall {
  readonly program: Program;
  /** As the function has answered: tensors, and arrays of tensors. */
  readonly answer: unknown;
  /** The tensors in it, each once. */
  readonly results: readonly Tensor[];
  /** Some result is a view of an operand eagerly; here it is a copy. */
  readonly isView: boolean;
}

/** Why a call has no program, whatever its shapes are. */
export class NotDynamic extends Error {
  override readonly name = 'NotDynamic';
}

const noNumbers = (): never => {
  throw new NotDynamic('draws random numbers, as many as its shape says');
};

const drawsNothing: RandomSource = { take: noNumbers, state: noNumbers, goTo: noNumbers };

/** Throws what the function throws for these shapes. */
export function buildCall(site: CallSite, given: readonly GivenOperand[]): BuiltCall {
  const { forms, metas, perform, gradMode, device, at } = site;
  const builder = new ProgramBuilder(
    () => {
      throw new NotDynamic('takes a tensor that is none of its operands');
    },
    { region: true },
  );
  builder.at = at;
  const input = (spec: Pick<TensorMeta, 'dtype' | 'shape'>, of: TensorMeta) =>
    builder.input(contiguousMeta(spec, of.device));
  const operands = forms.map((form, i): unknown => {
    const [meta, value] = [metas[i]!, given[i]!];
    if (form === 'number') return value;
    if (form === 'tensor') return input(meta, meta);
    if (form === 'dynamic') return input({ dtype: meta.dtype, shape: value as Shape }, meta);
    return Array.from({ length: value as number }, () => input(elementSpec(meta), meta));
  });
  const within = <T>(body: () => T): T =>
    withPositionProvider(
      () => at,
      () =>
        withInterceptor(builder, () =>
          withRandomSource(drawsNothing, () =>
            withGradMode(gradMode, () => deviceGuard(device, body)),
          ),
        ),
    );
  const answer = within(() => perform(operands));
  const results = [...new Set(tensorsIn(answer))];
  const isView = results.some((result) => builder.isInput(builder.rootOf(result)));
  const outputs = within(() => results.map((result) => contiguous(result)));
  const program = builder.finish(outputs.map((output) => builder.valueOf(output)));
  if (writtenInputs(program).length > 0) {
    throw new NotDynamic('writes to a tensor in place');
  }
  return { program, answer, results, isView };
}

function tensorsIn(answer: unknown): Tensor[] {
  if (answer instanceof Tensor) return [answer];
  if (Array.isArray(answer)) return answer.flatMap(tensorsIn);
  throw new NotDynamic('answers something else than tensors');
}

/** What is known of a result: null for sizes that depend on what a run brings. */
export interface ResultSizes {
  readonly dtype: TensorMeta['dtype'];
  readonly sizes: readonly (number | null)[];
}

/** The program for what a run brings. Throws FailedCheck, with what the function says to it. */
export function programFor(
  site: CallSite,
  given: readonly GivenOperand[],
  expected: readonly ResultSizes[],
): Program {
  const { program } = built(site, given);
  const { values, outputs } = program;
  const fits =
    outputs.length === expected.length &&
    outputs.every((id, i) => {
      const { dtype, shape } = values[id]!;
      const { sizes, dtype: known } = expected[i]!;
      return (
        dtype === known &&
        shape.length === sizes.length &&
        sizes.every((size, dim) => size === null || size === shape[dim])
      );
    });
  if (!fits) {
    const found = outputs.map((id) => formatSpec(values[id]!)).join(', ');
    throw refused(site, `an answer ${found}, of other sizes than it has for other runs`);
  }
  return program;
}

function built(site: CallSite, given: readonly GivenOperand[]): BuiltCall {
  try {
    return buildCall(site, given);
  } catch (error) {
    throw refused(site, error instanceof Error ? error.message : String(error));
  }
}

function refused({ name, at }: CallSite, given: string): FailedCheck {
  return new FailedCheck({
    what: `${name}: a program can't go on with the shapes of this run`,
    given,
    expected: 'shapes for which the function does not throw',
    remedy: 'see the call there',
    at,
  });
}
