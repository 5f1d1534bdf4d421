import { gradEnabled } from '../../runtime/autograd/grad-mode.ts';
import { GradNode, type Target } from '../../runtime/autograd/node.ts';
import { changedInPlace } from '../../runtime/autograd/saved-value.ts';
import { AutogradError } from '../../runtime/errors/errors.ts';
import type { OpRecord } from '../../runtime/ops/define-op.ts';
import { contiguous } from '../../runtime/ops/movement.ts';
import type { ProgramBuilder } from '../../runtime/program/builder.ts';
import type { ProgramOp } from '../../runtime/program/program.ts';
import { formatSpec, type TensorMeta } from '../../runtime/tensor/meta.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { ownResults } from './own-memory.ts';
import { presenceOf } from './presence.ts';

interface ControlRecord {
  /** The op that is undone, and the op that does it. */
  readonly name: string;
  readonly undo: OpRecord;
  /** What is in both of them. */
  readonly inside: Pick<ProgramOp, 'regions' | 'call'>;
  /** How many operands are carried from turn to turn. */
  readonly carried: number;
  /** Per operand. */
  readonly targets: readonly Target[];
  readonly inputs: readonly TensorMeta[];
  /** Per result but the tape. */
  readonly results: readonly TensorMeta[];
  readonly tape: Tensor;
  /** Operands and results whose data backward reads. */
  readonly read: readonly Tensor[];
  readonly owners: number;
}

/**
 * Undoes a control op of a program under construction, by appending the op that walks its tape back. What
 * backward needs is on the tape, so nothing else is saved. Gradients that come on some ways only may be
 * missing when the program runs; those that come on none are null.
 */
export class ControlNode extends GradNode {
  override readonly name: string;
  readonly #record: ControlRecord;
  /** Values of the surroundings whose data is on the tape, with their versions. */
  readonly #read: readonly (readonly [Tensor, number])[];

  constructor(record: ControlRecord) {
    super(record.targets, record.owners);
    this.name = record.name;
    this.#record = record;
    this.#read = record.read.map((tensor) => [tensor, tensor.traced!.version()]);
  }

  override apply(
    gradOutputs: readonly (Tensor | null | undefined)[],
    _retainGraph: boolean,
    wanted: readonly boolean[],
  ): (Tensor | null)[] {
    const { undo, inside, carried, tape, inputs } = this.#record;
    // In a branch or loop behind the op: the tape is an operand there.
    const { builder } = gradOutputs.find((gradient) => gradient)!.traced! as {
      readonly builder: ProgramBuilder;
    };
    if (gradEnabled()) this.#refuseGraph();
    for (const [tensor, version] of this.#read) {
      if (tensor.traced!.version() === version) continue;
      throw changedInPlace(this.name, `a ${formatSpec(tensor)} tensor, written since forward`);
    }
    const of = this.#record.results.flatMap((_, i) => (gradOutputs[i] ? [i] : []));
    const asked = this.targets.flatMap((target, i) => (target && wanted[i] ? [i] : []));
    const { regions } = inside;
    const presence = presenceOf(
      { regions: regions ?? null, of, to: asked, carried },
      of.map((i) => (builder.mayMiss(gradOutputs[i]!) ? 'maybe' : 'always')),
    );
    const to = asked.filter((_, k) => presence[k] !== 'never');
    const given = of.map((i) => contiguous(gradOutputs[i]!));
    const gradients = builder.control(
      undo,
      [tape, ...given],
      { of, to, carried },
      inside,
      to.map((i) => inputs[i]!),
    );
    const results: (Tensor | null)[] = this.targets.map(() => null);
    const own = ownResults({ regions: regions ?? null, of, to, carried });
    to.forEach((i, k) => {
      results[i] = gradients[k]!;
      builder.noteMissing(gradients[k]!, presence[asked.indexOf(i)] === 'maybe');
      if (own[k]) builder.noteOwn(gradients[k]!);
    });
    return results;
  }

  /** The op that walks the tape back has no gradient: what it answers would pass for a constant. */
  #refuseGraph(): never {
    throw new AutogradError({
      what: `backward of ${this.name}: a gradient of a gradient through a branch or loop of a program`,
      given: 'a backward with createGraph',
      expected: 'branches and loops that are not part of the program where it is asked for',
      remedy: 'leave createGraph out, or call the function without toStatic there',
    });
  }

  protected override releaseSaved(): void {}
}
