/** Calls of the tensor API with data-dependent shapes, as program builders see them. */

import { enableGrad } from '../../runtime/autograd/grad-mode.ts';
import { contiguousMeta, type TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { withInterceptor } from '../../runtime/ops/core/bind.ts';
import { contiguous } from '../../runtime/ops/movement/movement.ts';
import { ProgramBuilder } from '../../runtime/program/builder.ts';
import type { DynamicCall, GivenOperand, OperandForm } from '../../runtime/program/dynamic-call.ts';
import { elementSpec } from '../../runtime/program/list-ops.ts';
import type { Program, Region } from '../../runtime/program/program.ts';
import type { Shape } from '../../runtime/spec/shape.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';

/** A call's operand: a tensor, the tensors of a list, or a number. */
export type CallOperand = Tensor | readonly Tensor[] | number;

/** A call site whose function can be called again for the shapes of any run. */
export interface CallSite {
  /** The function's name in the user's code. */
  readonly name: string;
  readonly forms: readonly OperandForm[];
  /** The meta of each operand in the surrounding program. */
  readonly metas: readonly TensorMeta[];
  /** The values of each operand in the sample runs; undefined for runs that don't reach the call. */
  readonly samples: readonly (readonly (GivenOperand | undefined)[])[];
  /** For each result, whether its shape is data-dependent. */
  readonly dynamic: readonly boolean[];
  /** Whether all tensors that it returns form one list, whose length follows from the shapes. */
  readonly list: boolean;
  /** True if no result shares memory with an operand. */
  readonly apart?: boolean;
  /**
   * Makes the call in a program under construction; returns its results, which may be views. Throws FailedCheck if the
   * function rejects the shapes, or returns other shapes than the surrounding program assumes.
   */
  readonly perform: (
    operands: readonly CallOperand[],
    builder: ProgramBuilder,
  ) => readonly Tensor[];
}

/** A call site in a program of particular sizes. */
export interface PlannedSite {
  readonly site: CallSite;
  /** Operands that a run might have and the call accepts. */
  readonly sample: readonly GivenOperand[];
  /** The results in the surrounding program. */
  readonly results: readonly TensorMeta[];
}

/** Transforms a program before it is differentiated. */
export type FinishProgram = (program: Program) => Program;

/** A call with a program for each set of shapes. */
export class SiteCall implements DynamicCall {
  readonly site: CallSite;
  readonly sample: readonly GivenOperand[];
  readonly #finish: FinishProgram;

  constructor(site: CallSite, sample: readonly GivenOperand[], finish: FinishProgram) {
    this.site = site;
    this.sample = sample;
    this.#finish = finish;
  }

  get name() {
    return this.site.name;
  }

  get forms() {
    return this.site.forms;
  }

  get dynamic() {
    return this.site.dynamic;
  }

  get list() {
    return this.site.list;
  }

  get apart() {
    return this.site.apart;
  }

  at(values: readonly GivenOperand[]): Region {
    const { builder, operands } = beginCall(this.site, values, noOther);
    const results = withInterceptor(builder, () => this.site.perform(operands, builder));
    return { program: this.#finish(endCall(builder, results)), joint: null };
  }
}

const noOther = (): never => {
  throw new Error('takes a tensor that is not one of its operands');
};

/** Starts a program whose inputs are the tensors passed to the call. */
export function beginCall(
  { forms, metas }: Pick<CallSite, 'forms' | 'metas'>,
  values: readonly GivenOperand[],
  onForeign: () => never,
) {
  const builder = new ProgramBuilder(onForeign, { region: true });
  const input = (spec: Pick<TensorMeta, 'dtype' | 'shape'>, of: TensorMeta) =>
    builder.input(contiguousMeta(spec, of.device));
  const operands = forms.map((form, i): CallOperand => {
    const [meta, value] = [metas[i]!, values[i]!];
    if (form === 'number') return value as number;
    if (form === 'tensor') return input(meta, meta);
    if (form === 'dynamic') return input({ dtype: meta.dtype, shape: value as Shape }, meta);
    return Array.from({ length: value as number }, () => input(elementSpec(meta), meta));
  });
  return { builder, operands };
}

/** Ends the program, returning contiguous results. */
export function endCall(builder: ProgramBuilder, results: readonly Tensor[]): Program {
  const outputs = withInterceptor(builder, () =>
    enableGrad(() => results.map((result) => contiguous(result))),
  );
  return builder.finish(outputs.map((output) => builder.valueOf(output)));
}
