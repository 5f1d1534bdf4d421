import { invariant } from '../../../runtime/errors/invariant.ts';
import { ProgramBuilder } from '../../../runtime/program/builder.ts';
import type { Program, ValueId } from '../../../runtime/program/program.ts';
import { requireGrad } from '../../../runtime/tensor/require-grad.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Surroundings } from './surroundings.ts';
import type { TapeCall } from './tape.ts';
import type { Tracer } from './tracer.ts';

/** A region that is done, so that it can be built again for other sizes. */
export interface FinishedRegion {
  readonly region: RegionBuilder;
  /** Values of the surrounding program. */
  readonly captured: readonly Tensor[];
  readonly outputs: readonly Tensor[];
}

const regionOf = new WeakMap<object, RegionBuilder>();

/** The region that a tensor is a value of; undefined for the outermost program. */
export function regionWith({ traced }: Tensor): RegionBuilder | undefined {
  return traced ? regionOf.get(traced.builder) : undefined;
}

const finished = new WeakMap<Program, FinishedRegion>();

/** How the program of a region came to be. */
export function finishedRegion(program: Program): FinishedRegion {
  const found = finished.get(program);
  invariant(found, 'a program that is no region');
  return found;
}

/**
 * A branch or loop body under construction. What it reads of its surroundings becomes an input when it is
 * first read; first come the inputs that it was given.
 */
export class RegionBuilder implements Surroundings {
  readonly builder: ProgramBuilder;
  readonly #outer: Surroundings;
  /** Captured values of the surrounding program, and the inputs that represent them. */
  readonly #captured = new Map<ValueId, { readonly outer: Tensor; readonly input: Tensor }>();
  readonly #outerOfInput = new Map<ValueId, Tensor>();
  /** Inputs that are not captured values. */
  readonly given: Tensor[] = [];
  /** The tensors of the surrounding program for which they were given. */
  readonly givenFor: Tensor[] = [];
  readonly tape: TapeCall[] = [];

  /** `stand`: what is there instead of a tensor of a program that is built again. */
  constructor(outer: Surroundings, stand = (tensor: Tensor): Tensor => tensor) {
    this.#outer = outer;
    this.builder = new ProgramBuilder((tensor) => this.capture(stand(tensor)), {
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

  /** It belongs to this program, or to one around it. */
  reaches(builder: object): boolean {
    if (builder === this.builder) return true;
    const outer = this.#outer;
    return outer instanceof RegionBuilder ? outer.reaches(builder) : outer.builder === builder;
  }

  /** The value of the surrounding program that an input represents. */
  outerOf(input: ValueId): Tensor | undefined {
    return this.#outerOfInput.get(input);
  }

  /** The value of the surrounding program that the tensor is, if it was captured. */
  capturedAs(input: Tensor): Tensor | undefined {
    return this.outerOf(this.builder.valueOf(input));
  }

  /** Where the path is left: nothing of it has happened, until the op with the region is appended. */
  takeBackWrites(): void {
    this.builder.forgetWrites(this.builder.writeCount);
  }

  #noteWrite(input: ValueId): void {
    const outer = this.outerOf(input);
    if (outer) this.#outer.builder.noteWrite(this.#outer.builder.valueOf(outer));
  }

  #mayShare(one: ValueId, other: ValueId): boolean {
    const [from, to] = [this.outerOf(one), this.outerOf(other)];
    // What a loop carries may be anything that came before it.
    if (!from || !to) return true;
    const { builder } = this.#outer;
    return builder.mayShare(from, to);
  }

  #forgetWrite(input: ValueId): void {
    if (this.outerOf(input)) this.#outer.builder.forgetWrites(1);
  }

  /** An input like `outer` that the control op is given explicitly; it may require gradients later only. */
  give(outer: Tensor, requiresGrad = outer.requiresGrad): Tensor {
    const input = requireGrad(this.builder.input(outer), requiresGrad);
    this.given.push(input);
    this.givenFor.push(outer);
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

  /** Results that are values of the surroundings are captured, too. */
  captureAll(results: readonly Tensor[]): void {
    for (const result of results) this.builder.valueOf(result);
  }

  /** Values of the surrounding program. */
  get captured(): Tensor[] {
    return [...this.#captured.values()].map(({ outer }) => outer);
  }

  /** The program with the given inputs first, then one for each of `captured`, read or not. */
  finish(captured: readonly Tensor[], outputs: readonly Tensor[]): Program {
    const inputs = [...this.given, ...captured.map((tensor) => this.capture(tensor))];
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

/** Whether an op of the region under construction has made the tensor. */
export function isMadeInside({ surroundings }: Tracer, tensor: Tensor): boolean {
  if (!(surroundings instanceof RegionBuilder)) return false;
  if (tensor.traced?.builder !== surroundings.builder) return false;
  return !surroundings.given.includes(tensor) && surroundings.capturedAs(tensor) === undefined;
}

/** Whether the tensor is a value of the program under construction, or of one around it. */
export function isAround(surroundings: Surroundings, { traced }: Tensor): boolean {
  const builder = traced!.builder;
  if (surroundings instanceof RegionBuilder) return surroundings.reaches(builder);
  return surroundings.builder === builder;
}

/** Several regions of one op read the same operands: those that any of them captures. */
export function capturedByAny(outer: ProgramBuilder, regions: readonly RegionBuilder[]): Tensor[] {
  const all = new Map<ValueId, Tensor>();
  for (const region of regions) {
    for (const tensor of region.captured) all.set(outer.valueOf(tensor), tensor);
  }
  return [...all.values()];
}
