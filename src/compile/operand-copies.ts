import { contiguousMeta, type TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { copy } from '../../runtime/ops/core/copy.ts';
import { ValueGroups } from '../../runtime/program/memory-groups.ts';
import type { Program, ProgramOp, Region, ValueId } from '../../runtime/program/program.ts';
import { renumber } from '../5-optimize/cleanup/normalize.ts';

/**
 * In: a traced program. Out: the same program, in which each in-place op reads copies of operands that view another
 * input than its target: if a call passes inputs that share memory, the op could overwrite elements before it reads
 * them.
 */
export function withOperandCopies(program: Program): Program {
  return withCopiesUntil(program, program.ops.length);
}

/** `end`: in-place ops from there on belong to backward and write only memory that backward allocated. */
function withCopiesUntil(program: Program, end: number): Program {
  const groups = new ValueGroups(program.ops, 'memory');
  const ofInputs = new Set(program.inputs.map((id) => groups.of(id)));
  const values: TensorMeta[] = [...program.values];
  const isCopied = (target: ValueId, operand: ValueId): boolean => {
    const [to, from] = [groups.of(target), groups.of(operand)];
    return to !== from && ofInputs.has(to) && ofInputs.has(from);
  };
  let changed = false;
  const ops = program.ops.flatMap((op, index): readonly ProgramOp[] => {
    if (index >= end) return [op];
    if (op.regions) {
      const regions = op.regions.map(regionWithCopies);
      if (regions.every((region, i) => region === op.regions![i])) return [op];
      changed = true;
      return [{ ...op, regions }];
    }
    const [target, ...others] = op.inputs;
    if (!op.op.inPlace || !others.some((id) => isCopied(target!, id))) return [op];
    changed = true;
    const copies: ProgramOp[] = [];
    const copyOf = (id: ValueId): ValueId => {
      const meta = values[id]!;
      const copied = (values.push(contiguousMeta(meta, meta.device)) - 1) as ValueId;
      copies.push({
        op: copy,
        inputs: [id],
        outputs: [copied],
        attrs: {},
        recordsGrad: false,
        at: op.at,
      });
      return copied;
    };
    const operands = others.map((id) => (isCopied(target!, id) ? copyOf(id) : id));
    return [...copies, { ...op, inputs: [target!, ...operands] }];
  });
  return changed ? { ...program, values, ops } : program;
}

/** A branch and its backward op share their regions, before and after. */
const known = new WeakMap<Region, Region>();

function regionWithCopies(region: Region): Region {
  const found = known.get(region) ?? copiedRegion(region);
  known.set(region, found);
  return found;
}

function copiedRegion(region: Region): Region {
  const copying = withOperandCopies(region.program);
  if (copying === region.program) return region;
  // Regions are replayed unchanged.
  const program = renumber(copying);
  const { joint } = region;
  if (!joint) return { program, joint };
  const both = withCopiesUntil(joint.program, joint.forwardOps);
  const copies = both.ops.length - joint.program.ops.length;
  return { program, joint: { ...joint, program: both, forwardOps: joint.forwardOps + copies } };
}
