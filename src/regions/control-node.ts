import { gradEnabled } from '../../runtime/autograd/grad-mode.ts';
import { changedInPlace } from '../../runtime/autograd/saved-value.ts';
import { contiguousMeta, formatSpec, type TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { AutogradError } from '../../runtime/errors/errors.ts';
import { contiguous } from '../../runtime/ops/movement/movement.ts';
import type { OpRecord } from '../../runtime/ops/record/define-op.ts';
import type { ProgramBuilder } from '../../runtime/program/builder.ts';
import { mayBeList } from '../../runtime/program/list-ops.ts';
import type { ProgramOp } from '../../runtime/program/program.ts';
import { GradNode, type TakeSum, type Target, targetOf } from '../../runtime/tensor/grad-node.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { type Existence, optionalGradientsIn } from './optional-gradients.ts';
import { ownResults } from './own-memory.ts';

interface ControlRecord {
  /** The names of the forward op and its backward op. */
  readonly name: string;
  readonly backward: OpRecord;
  /** The regions or the call that both ops contain. */
  readonly inside: Pick<ProgramOp, 'regions' | 'call'>;
  /** The number of loop-carried operands. */
  readonly carried: number;
  /** The target of each operand's gradient. */
  readonly targets: readonly Target[];
  readonly inputs: readonly TensorMeta[];
  /** The meta of each result except the tape. */
  readonly results: readonly TensorMeta[];
  readonly tape: Tensor;
  /** Operands and results that may be the same tensor, in groups. */
  readonly same?: readonly (readonly Tensor[])[];
  /** Operands and results whose data backward reads. */
  readonly read: readonly Tensor[];
  readonly owners: number;
}

/** Records a node for the outputs of a control op, the last of which is its tape; gradients flow into `flows`. */
export function recordControl(
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
  flows: readonly boolean[],
  of: Pick<ControlRecord, 'name' | 'backward' | 'inside' | 'carried' | 'same' | 'read'>,
): void {
  const results = outputs.slice(0, -1);
  const node = new ControlNode({
    ...of,
    targets: inputs.map((input) => targetOf(input)),
    inputs: inputs.map((input) => contiguousMeta(input, input.device)),
    results: results.map((output) => contiguousMeta(output, output.device)),
    tape: outputs.at(-1)!,
    owners: flows.filter(Boolean).length,
  });
  flows.forEach((flow, index) => {
    if (flow) outputs[index]!.setGradEdge({ node, index });
  });
}

/**
 * Differentiates a control op of a program under construction, by appending the op that walks its tape backward.
 * Everything that backward needs is on the tape, so nothing else is saved. Gradients that exist only on some paths may
 * be missing at run time; gradients that exist on no path are null.
 */
export class ControlNode extends GradNode {
  override readonly name: string;
  readonly #record: ControlRecord;
  /** Values of the surrounding program whose data is on the tape, with their versions. */
  readonly #read: readonly (readonly [Tensor, number])[];

  constructor(record: ControlRecord) {
    super(record.targets, record.owners);
    this.name = record.name;
    this.#record = record;
    for (const tensor of record.read) readByGradients.add(tensor);
    this.#read = record.read.map((tensor) => [tensor, tensor.traced!.version()]);
  }

  /** Operands and results that may be the same tensor, in groups. */
  get same(): readonly (readonly Tensor[])[] {
    return this.#record.same ?? [];
  }

  /** Operands and results whose data backward reads. */
  get read(): readonly Tensor[] {
    return this.#record.read;
  }

  override apply(
    gradOutputs: readonly (Tensor | null | undefined)[],
    _retainGraph: boolean,
    requestedTargets: readonly boolean[],
    takeSum: TakeSum,
  ): (Tensor | null)[] {
    const { backward, inside, carried, tape, inputs } = this.#record;
    // The builder of a branch or loop after the op, where the tape is an operand.
    const { builder } = gradOutputs.find((gradient) => gradient)!.traced! as {
      readonly builder: ProgramBuilder;
    };
    if (gradEnabled()) throw gradientThrough(this);
    for (const [tensor, version] of this.#read) {
      if (tensor.traced!.version() === version) continue;
      throw changedInPlace(this.name, `a ${formatSpec(tensor)} tensor, written since forward`);
    }
    const ofResults = this.#record.results.flatMap((_, i) => (gradOutputs[i] ? [i] : []));
    const requested = this.targets.flatMap((target, i) =>
      target && requestedTargets[i] ? [i] : [],
    );
    const regions = inside.regions ?? null;
    const presenceIn = (all: readonly Tensor[]): Existence[] =>
      all.map((each) => (builder.isOptional(each) ? 'maybe' : 'always'));
    const ofOwn = ofResults.map((i) => gradOutputs[i]!);
    const bare = { regions, of: ofResults, to: requested, carried };
    const own = optionalGradientsIn(bare, presenceIn(ofOwn));
    const to = requested.filter((_, k) => own[k] !== 'never');
    const earlier = this.#takeSums(to, takeSum);
    const incoming = [...ofOwn, ...earlier.values()];
    const of = [...ofResults, ...earlier.keys()];
    const backwardOp = { regions, of, to, carried };
    const existence = optionalGradientsIn(backwardOp, presenceIn(incoming));
    const gradients = builder.control(
      backward,
      [tape, ...incoming.map(contiguous)],
      { of, to, carried },
      inside,
      to.map((i) => inputs[i]!),
    );
    const results: (Tensor | null)[] = this.targets.map(() => null);
    const isOwn = ownResults(backwardOp);
    to.forEach((i, k) => {
      results[i] = gradients[k]!;
      builder.noteOptional(gradients[k]!, existence[k] === 'maybe');
      if (isOwn[k]) builder.noteUnaliased(gradients[k]!);
    });
    return results;
  }

  /**
   * Takes the gradients that have reached the operands `to`, by their operand indices in the backward op. If one tensor
   * occurs as several operands, the last one comes first: values captured by iterations are read after their start
   * values.
   */
  #takeSums(to: readonly number[], takeSum: TakeSum): ReadonlyMap<number, Tensor> {
    const { inside, carried, results, inputs } = this.#record;
    const { regions } = inside;
    const sums = new Map<number, Tensor>();
    if (!regions) return sums;
    const first = carried > 0 ? 0 : 1;
    for (const operand of to.toReversed()) {
      const number = results.length + operand - first;
      const inLoop = carried > 0 && operand >= carried;
      const inRegion = regions.some(({ joint }) => joint && joint.gradOutputs[number] !== null);
      const continuesSum = (inLoop || inRegion) && !mayBeList(inputs[operand]!);
      const sum = continuesSum ? takeSum(operand) : null;
      if (sum) sums.set(number, sum);
    }
    return sums;
  }

  protected override releaseSaved(): void {}
}

const readByGradients = new WeakSet<Tensor>();

/** Whether the backward of a branch, loop or call reads the tensor's data. */
export function isReadByGradient(tensor: Tensor): boolean {
  return readByGradients.has(tensor);
}

const refused = new WeakMap<Error, GradNode>();

/** The op that walks the tape has no gradient itself: its results would be treated as constants. */
function gradientThrough(node: GradNode): AutogradError {
  const error = new AutogradError({
    what: `backward of ${node.name}: a gradient of a gradient through a branch or loop of a program`,
    given: 'a backward with createGraph',
    expected: 'branches and loops that are not part of the program where it is asked for',
    remedy: 'leave createGraph out, or call the function without toStatic there',
  });
  refused.set(error, node);
  return error;
}

/** Returns the branch or loop for which a gradient of a gradient was rejected with this error. */
export function refusedAt(error: Error): GradNode | undefined {
  return refused.get(error);
}
