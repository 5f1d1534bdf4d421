import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { unfusedOps } from '../../runtime/program/fused/unfused.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import type { DType } from '../../runtime/spec/dtype.ts';
import { printSource } from '../guards/source.ts';
import type { CompiledPart } from '../programs/compiled-part.ts';
import type { AttrEntry, GraphDef, NodeDef } from './schema.ts';

/** `DataType` of TensorFlow. */
const dataTypes: { readonly [D in DType]: number } = {
  float32: 1,
  float64: 2,
  int32: 3,
  uint8: 4,
  bool: 10,
  bfloat16: 14,
  float16: 19,
};

/**
 * Converts the programs of a captured function to a TensorBoard graph: a node for each input and op, grouped by
 * forward and backward, and within these by user line.
 */
export function programGraph(parts: readonly CompiledPart[]): GraphDef {
  const writer = new GraphWriter();
  parts.forEach((part, i) => {
    writer.part(part, parts.length > 1 ? `part ${i + 1}/` : '');
  });
  return { node: writer.nodes, versions: { producer: 22 } };
}

type Names = Map<ValueId, string>;

class GraphWriter {
  readonly nodes: NodeDef[] = [];
  readonly #used = new Set<string>();

  part({ trace, stages }: CompiledPart, scope: string): void {
    const names: Names = new Map();
    const forward = stages?.forward ?? trace.program;
    forward.inputs.forEach((id, i) => {
      const source = trace.inputs[i];
      const name = source ? printSource(source, trace) : `${i}`;
      const path = name.replaceAll(/\[(\w+)\]/g, '.$1').replaceAll('.', '/');
      this.#input(`${scope}inputs/${path}`, id, forward, names);
    });
    this.#program(forward, `${scope}forward/`, names);
    if (!stages?.backward) return;
    for (const id of stages.backward.inputs) {
      if (!names.has(id)) this.#input(`${scope}backward/gradient`, id, stages.backward, names);
    }
    this.#program(stages.backward, `${scope}backward/`, names);
  }

  #input(preferred: string, id: ValueId, { values }: Program, names: Names): void {
    const name = this.#nameOf(preferred);
    names.set(id, name);
    this.nodes.push({ name, op: 'Placeholder', input: [], attr: attrsOf([values[id]!]) });
  }

  #program(program: Program, scope: string, names: Names): void {
    for (const op of unfusedOps(program.ops)) this.#op(op, program, scope, names);
  }

  #op(op: ProgramOp, program: Program, scope: string, names: Names): void {
    const { at, backward, inputs, outputs, regions } = op;
    // The ops of a whole training step include its backward.
    const scopeName = backward ? scope.replace(/forward\/$/, 'backward/') : scope;
    const line = at ? `${at.file.slice(at.file.lastIndexOf('/') + 1)} ${at.line}/` : '';
    const name = this.#nameOf(`${scopeName}${line}${op.op.name}`);
    const input = inputs.flatMap((id) => names.get(id) ?? []);
    const results = op.op.inPlace ? inputs.slice(0, 1) : outputs;
    const metas = results.map((id) => program.values[id]!);
    this.nodes.push({ name, op: op.op.name, input, attr: attrsOf(metas, op) });
    outputs.forEach((id, i) => {
      names.set(id, i === 0 ? name : `${name}:${i}`);
    });
    // Later ops read the written value.
    if (op.op.inPlace) names.set(inputs[0]!, name);
    regions?.forEach((region, i) => {
      const inside: Names = new Map();
      const captured = inputs.slice(inputs.length - region.program.inputs.length);
      region.program.inputs.forEach((id, k) => {
        const outer = names.get(captured[k]!);
        if (outer) inside.set(id, outer);
      });
      this.#program(region.program, `${name}/region ${i}/`, inside);
    });
  }

  /** Replaces characters that TensorFlow rejects, and appends a number if the name is taken. */
  #nameOf(preferred: string): string {
    const plain = preferred.replaceAll(/[^\w./-]/g, '_').replace(/^[^A-Za-z0-9.]/, '.');
    let name = plain;
    for (let n = 1; this.#used.has(name); n++) name = `${plain}_${n}`;
    this.#used.add(name);
    return name;
  }
}

function attrsOf(metas: readonly TensorMeta[], op?: ProgramOp): AttrEntry[] {
  const shape = metas.map((meta) => ({ dim: meta.shape.map((size) => ({ size })) }));
  const attrs: AttrEntry[] = [{ key: '_output_shapes', value: { list: { shape } } }];
  const [first] = metas;
  if (first) attrs.push({ key: 'T', value: { type: dataTypes[first.dtype] } });
  const entries = Object.entries(op?.attrs ?? {});
  if (entries.length > 0) {
    const text = entries.map(([name, value]) => `${name}: ${String(value)}`).join(', ');
    attrs.push({ key: 'attr', value: { s: new TextEncoder().encode(text) } });
  }
  return attrs;
}
