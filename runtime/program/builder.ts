import { gradEnabled } from '../autograd/grad-mode.ts';
import type { Device } from '../device/device.ts';
import { AutogradError } from '../errors/errors.ts';
import { invariant } from '../errors/invariant.ts';
import type { UserPosition } from '../errors/position.ts';
import type { Interceptor } from '../ops/bind.ts';
import type { Attrs, OpRecord } from '../ops/define-op.ts';
import { contiguousMeta, type TensorMeta } from '../tensor/meta.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { Program, ProgramOp, ValueId } from './program.ts';

/** Where a builder stood; everything appended since can be taken back. */
export interface Checkpoint {
  readonly values: number;
  readonly ops: number;
  readonly inputs: number;
}

/**
 * Appends every op that is bound to a program instead of running it. Its tensors have meta and a value
 * id, no data.
 */
export class ProgramBuilder implements Interceptor {
  readonly #values: TensorMeta[] = [];
  readonly #inputs: ValueId[] = [];
  readonly #ops: ProgramOp[] = [];
  readonly #onForeign: (tensor: Tensor) => Tensor;
  /** The user's position that the next ops belong to. */
  at: UserPosition | undefined;

  /** `onForeign` answers for a tensor with data that meets traced ones: it may become an input. */
  constructor(onForeign: (tensor: Tensor) => Tensor) {
    this.#onForeign = onForeign;
  }

  get opCount(): number {
    return this.#ops.length;
  }

  get inputs(): readonly ValueId[] {
    return this.#inputs;
  }

  /** A new program input with these strides; a tensor with others is copied into them at run time. */
  input({ dtype, shape, strides, device }: TensorMeta): Tensor {
    const tensor = this.#newValue({ dtype, shape, strides, offset: 0, device });
    this.#inputs.push(this.valueOf(tensor));
    return tensor;
  }

  valueOf(tensor: Tensor): ValueId {
    const { traced } = tensor;
    if (traced) {
      invariant(traced.builder === this, 'a tensor of another program under construction');
      return traced.value as ValueId;
    }
    return this.valueOf(this.#onForeign(tensor));
  }

  execute(op: OpRecord, inputs: readonly Tensor[], attrs: Attrs, device: Device): Tensor[] {
    if (op.inPlace) throw new InPlaceWhileTracing(op.name);
    const ids = inputs.map((input) => this.valueOf(input));
    const metas = ids.map((id) => this.#values[id]!);
    const { kernel } = op;
    const specs =
      kernel.kind === 'view'
        ? [kernel.view(metas, attrs)]
        : op.infer(metas, attrs).map((spec) => contiguousMeta(spec, device));
    const outputs = specs.map((meta) => this.#newValue(meta));
    this.#ops.push({
      op,
      inputs: ids,
      outputs: outputs.map((output) => this.valueOf(output)),
      attrs,
      recordsGrad: gradEnabled(),
      at: this.at,
    });
    return outputs;
  }

  checkpoint(): Checkpoint {
    return {
      values: this.#values.length,
      ops: this.#ops.length,
      inputs: this.#inputs.length,
    };
  }

  rollback(to: Checkpoint): void {
    this.#values.length = to.values;
    this.#ops.length = to.ops;
    this.#inputs.length = to.inputs;
  }

  finish(outputs: readonly ValueId[]): Program {
    const { values, inputs, ops } = { values: this.#values, inputs: this.#inputs, ops: this.#ops };
    return { values: [...values], inputs: [...inputs], ops: [...ops], outputs };
  }

  #newValue(meta: TensorMeta): Tensor {
    const value = this.#values.push(meta) - 1;
    return new Tensor(meta, null, { builder: this, value });
  }
}

/** A write in place can't be part of a program yet; whoever traces breaks the graph there. */
export class InPlaceWhileTracing extends AutogradError {
  readonly op: string;
  constructor(op: string) {
    super({
      what: `${op}: a write in place inside a captured function`,
      given: `${op} while a program is being built`,
      expected: 'out-of-place ops',
      remedy: `use the form without underscore, or leave it to the graph break`,
    });
    this.op = op;
  }
}
