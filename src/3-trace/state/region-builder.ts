import { invariant } from '../../../runtime/errors/invariant.ts';
import { ProgramBuilder } from '../../../runtime/program/builder.ts';
import type { Program, ValueId } from '../../../runtime/program/program.ts';
import { requireGrad } from '../../../runtime/tensor/require-grad.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { OutsideValue } from '../control-flow/plans/copied-views.ts';
import type { AwaitedWork } from './autograd-state.ts';
import type { EnclosingProgram } from './enclosing-program.ts';
import type { TapeCall } from './tape.ts';
import type { Tracer } from './tracer.ts';

/** A finished region, with the data for rebuilding it for other sizes. */
export interface FinishedRegion {
  readonly region: RegionBuilder;
  /** Values of the surrounding program. */
  readonly captured: readonly Tensor[];
  readonly outputs: readonly Tensor[];
}

const regionOf = new WeakMap<object, RegionBuilder>();

/** Returns the region that the tensor is a value of; undefined for the outermost program. */
export function regionWith({ traced }: Tensor): RegionBuilder | undefined {
  return traced ? regionOf.get(traced.builder) : undefined;
}

const finished = new WeakMap<Program, FinishedRegion>();

/** Returns how a region's program was built. */
export function finishedRegion(program: Program): FinishedRegion {
  const found = finished.get(program);
  invariant(found, 'a program that is no region');
  return found;
}

/**
 * A branch or loop body under construction. A value of the surrounding program becomes an input when it is first read;
 * explicit inputs come first.
 */
export class RegionBuilder implements EnclosingProgram {
  readonly builder: ProgramBuilder;
  readonly #outer: EnclosingProgram;
  /** Captured values of the surrounding program, and the inputs that represent them. */
  readonly #captured = new Map<ValueId, { readonly outer: Tensor; readonly input: Tensor }>();
  readonly #outerOfInput = new Map<ValueId, Tensor>();
  /** Inputs that are not captured values. */
  readonly explicitInputs: Tensor[] = [];
  /** The tensors of the surrounding program that the explicit inputs represent. */
  readonly explicitOperands: Tensor[] = [];
  readonly tape: TapeCall[] = [];
  /** The checkpointed calls whose saved values backward of the region reads. */
  readonly awaited: AwaitedWork[] = [];

  /** `replacementOf`: returns the replacement of a tensor when a program is rebuilt. */
  constructor(outer: EnclosingProgram, replacementOf = (tensor: Tensor): Tensor => tensor) {
    this.#outer = outer;
    this.builder = new ProgramBuilder((tensor) => this.capture(replacementOf(tensor)), {
      region: true,
      outside: {
        noteWrite: (input) => this.#noteWrite(input),
        mayShare: (one, other) => this.#mayShare(one, other),
        forgetWrite: (input) => this.#forgetWrite(input),
        versionOf: (input) => this.outerOf(input)?.traced?.version(),
        isFreed: (node) => outer.builder.freedNodes.isFreed(node),
        mayBeFreed: (node) => outer.builder.freedNodes.mayBeFreed(node),
      },
    });
    regionOf.set(this.builder, this);
  }

  /** Returns whether the builder is this region's or an enclosing program's. */
  reaches(builder: object): boolean {
    if (builder === this.builder) return true;
    const outer = this.#outer;
    return outer instanceof RegionBuilder ? outer.reaches(builder) : outer.builder === builder;
  }

  /** Returns the value of the surrounding program that an input represents. */
  outerOf(input: ValueId): Tensor | undefined {
    return this.#outerOfInput.get(input);
  }

  /** Returns the captured value of the surrounding program that the tensor represents, if any. */
  capturedAs(input: Tensor): Tensor | undefined {
    return this.outerOf(this.builder.valueOf(input));
  }

  outside(): OutsideValue[] {
    const explicit = this.explicitInputs.map((input, i) => ({
      input,
      outer: this.explicitOperands[i]!,
    }));
    return [...explicit, ...this.#captured.values()].map(({ input, outer }) => ({
      input: this.builder.valueOf(input),
      outer: this.#outer.builder.valueOf(outer),
      around: this.#outer,
    }));
  }

  /** Called when a path has been traced: its writes take effect only once the op with the region is appended. */
  rollBackWrites(): void {
    this.builder.memory.forgetWrites(this.builder.memory.writeCount);
  }

  #noteWrite(input: ValueId): void {
    const outer = this.outerOf(input);
    if (outer) this.#outer.builder.memory.noteWrite(this.#outer.builder.valueOf(outer));
  }

  #mayShare(one: ValueId, other: ValueId): boolean {
    const [from, to] = [this.outerOf(one), this.outerOf(other)];
    // A loop-carried value may be any pre-existing value.
    if (!from || !to) return true;
    const { builder } = this.#outer;
    return builder.memory.mayShare(builder.valueOf(from), builder.valueOf(to));
  }

  #forgetWrite(input: ValueId): void {
    if (this.outerOf(input)) this.#outer.builder.memory.forgetWrites(1);
  }

  /**
   * Adds an explicit input of the control op with the meta of `outer`. It may require gradients although `outer`
   * doesn't yet.
   */
  give(outer: Tensor, requiresGrad = outer.requiresGrad): Tensor {
    const input = requireGrad(this.builder.input(outer), requiresGrad);
    this.explicitInputs.push(input);
    this.explicitOperands.push(outer);
    return input;
  }

  capture(tensor: Tensor): Tensor {
    const { builder } = this.#outer;
    if (tensor.traced?.builder === this.builder) return tensor;
    const outer = tensor.traced?.builder === builder ? tensor : this.#outer.capture(tensor);
    const id = builder.valueOf(outer);
    const known = this.#captured.get(id);
    if (known) return known.input;
    const input = requireGrad(this.builder.input(outer), outer.requiresGrad);
    this.#captured.set(id, { outer, input });
    this.#outerOfInput.set(this.builder.valueOf(input), outer);
    return input;
  }

  /** Forgets values captured since the region had this many values, which have been rolled back. */
  forget(count: number): void {
    for (const [id, { input }] of this.#captured) {
      const own = this.builder.valueOf(input);
      if (own < count) continue;
      this.#captured.delete(id);
      this.#outerOfInput.delete(own);
    }
  }

  /** Captures results that are values of the surrounding program. */
  captureAll(results: readonly Tensor[]): void {
    for (const result of results) this.builder.valueOf(result);
  }

  /** Values of the surrounding program. */
  get captured(): Tensor[] {
    return [...this.#captured.values()].map(({ outer }) => outer);
  }

  /**
   * Returns the program, whose inputs are the explicit inputs followed by one per value of `captured`, even if it is
   * unread.
   */
  finish(captured: readonly Tensor[], outputs: readonly Tensor[]): Program {
    const inputs = [...this.explicitInputs, ...captured.map((tensor) => this.capture(tensor))];
    const ids = outputs.map((tensor) => this.builder.valueOf(tensor));
    const program = this.builder.finish(ids);
    const ordered = inputs.map((tensor) => this.builder.valueOf(tensor));
    invariant(
      ordered.length === program.inputs.length,
      'a region has other inputs than it captured',
    );
    const region = { ...program, inputs: ordered };
    finished.set(region, { region: this, captured, outputs });
    return region;
  }
}

/** Returns whether an op of the region under construction created the tensor. */
export function isMadeInside({ surroundings }: Tracer, tensor: Tensor): boolean {
  if (!(surroundings instanceof RegionBuilder)) return false;
  if (tensor.traced?.builder !== surroundings.builder) return false;
  return (
    !surroundings.explicitInputs.includes(tensor) && surroundings.capturedAs(tensor) === undefined
  );
}

/** Returns whether the tensor is a value of the program under construction or of an enclosing one. */
export function isAround(surroundings: EnclosingProgram, { traced }: Tensor): boolean {
  const builder = traced!.builder;
  if (surroundings instanceof RegionBuilder) return surroundings.reaches(builder);
  return surroundings.builder === builder;
}

/** Returns the values that at least one region captures: all regions of an op have the same operands. */
export function capturedByAny(outer: ProgramBuilder, regions: readonly RegionBuilder[]): Tensor[] {
  const all = new Map<ValueId, Tensor>();
  for (const region of regions) {
    for (const tensor of region.captured) all.set(outer.valueOf(tensor), tensor);
  }
  return [...all.values()];
}
