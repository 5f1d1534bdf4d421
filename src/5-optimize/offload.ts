import { deviceNamed } from '../../runtime/device/current.ts';
import { contiguousMeta, type TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { ArgumentError } from '../../runtime/errors/errors.ts';
import { transferTo } from '../../runtime/ops/core/transfer.ts';
import type { ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { sizeOf } from '../../runtime/spec/shape.ts';
import type { Steps } from '../programs/steps.ts';
import type { PassContext, Staged } from './facts/pass.ts';
import { type Like, savedAs } from './saved-forms.ts';

/** Smaller values stay on the device: copying them costs more than the bytes save. */
const leastElements = 1024;

/**
 * Copies the values that forward saves for backward to a store and frees them on the device after their last use.
 * Backward copies each back right before it first reads it. In a program that runs as a whole, GPU values are not
 * offloaded: reading them back would need an `await`.
 */
export function offload(staged: Staged, context: PassContext): Staged | Steps<Staged> {
  const { memory, stage } = context;
  if (memory.offload === null) return staged;
  const store = deviceNamed(memory.offload);
  return savedAs(staged, context, {
    metasOf: (meta) => {
      const { kind, expectLanded } = meta.device;
      if (expectLanded || sizeOf(meta.shape) < leastElements) return null;
      if (kind === 'cpu' && store.name === 'host') throw isHost();
      return kind === 'gpu' && stage !== 'joint' ? null : [contiguousMeta(meta, store)];
    },
    encoding: (root, codes, like) => copied([root], codes, like, store),
    decoding: (codes, value, like, { device }) => copied(codes, [value], like, device),
  });
}

function copied(
  inputs: readonly ValueId[],
  outputs: readonly ValueId[],
  like: Like,
  to: TensorMeta['device'],
): ProgramOp {
  return { ...like, op: transferTo(to), inputs, outputs, attrs: { device: to.name } };
}

function isHost(): ArgumentError {
  return new ArgumentError({
    what: "toStatic: memory: { offload: 'host' } is for values of a GPU",
    given: 'tensors on the CPU, whose memory is that of the host',
    expected: "tensors on a GPU, or 'file'",
    remedy: "await init('file') and memory: { offload: 'file' }, or a budget",
  });
}

/** Returns the ops that load values back from their stores. `ops`: those of the planned program. */
export function valuesFromStores(
  ops: readonly ProgramOp[],
  kept: ReadonlySet<ValueId>,
  values: readonly TensorMeta[],
): ProgramOp[] {
  return ops.flatMap(({ op, inputs: [id], outputs, at }): ProgramOp[] => {
    if (!op.target?.expectLanded || !kept.has(outputs[0]!) || kept.has(id!)) return [];
    return [copied(outputs, [id!], { at, recordsGrad: false }, values[id!]!.device)];
  });
}
