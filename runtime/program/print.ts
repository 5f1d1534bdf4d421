import type { AttrValue } from '../device/kernel-op.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { formatPosition, type UserPosition } from '../errors/position.ts';
import { exactText } from '../numerics/exact-text.ts';
import { printScalarCall } from '../ops/numbers/scalar-functions.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { oneOf } from '../options/option-kinds.ts';
import { isContiguous } from '../spec/shape.ts';
import type { Program, ProgramOp, Region, ValueId } from './program.ts';
import { scalarTableOf } from './scalars.ts';

/**
 * The printed form, deterministic: no addresses, counters or times.
 *
 *   program = header scalar* op* return
 *   header  = "(" [value ":" spec {"," value ":" spec}] ")"
 *   scalar  = "$" id "=" ("number" index | call)      JavaScript numbers, computed once per run
 *   op      = [outs "="] name operands [attrs] ["# " file ":" line ":" column {", " …}] {region}
 *   region  = "{" program "}", indented; its values are numbered on their own
 *   outs    = value ":" spec {"," value ":" spec}
 *   spec    = dtype "[" dims "]" ["strided"]
 *   return  = "return" values
 */
export function printProgram(program: Program, options: PrintOptions = {}): string {
  expectOptions('printProgram', options, printKinds);
  const lines = [
    `(${program.inputs.map((id) => printDefinition(program, id)).join(', ')})`,
    ...printScalars(program),
    ...program.ops.map((op) => printOp(program, op, options)),
    `return ${program.outputs.map(printValue).join(', ')}`,
  ];
  return `${lines.join('\n')}\n`;
}

export interface PrintOptions {
  /** How positions are printed: the file's base name (default), or not at all. */
  readonly positions?: 'short' | 'none';
}

const printKinds: OptionKinds<PrintOptions> = { positions: oneOf('short', 'none') };

export const printValue = (id: ValueId): string => `%${id}`;

function printDefinition(program: Program, id: ValueId): string {
  const meta = program.values[id]!;
  const strided = isContiguous(meta.shape, meta.strides) ? '' : ' strided';
  return `${printValue(id)}: ${formatSpec(meta)}${strided}`;
}

function printAttr(value: AttrValue): string {
  return exactText(value);
}

function printScalars({ ops }: Program): string[] {
  const nodes = scalarTableOf(ops)?.nodes ?? [];
  const operand = (id: number): string => {
    const node = nodes[id]!;
    return node.kind === 'constant' ? exactText(node.value) : `$${id}`;
  };
  return nodes.flatMap((node, id) => {
    if (node.kind === 'constant') return [];
    const text =
      node.kind === 'input'
        ? `number ${node.index}`
        : printScalarCall(node.fn, node.args.map(operand));
    return [`  $${id} = ${text}`];
  });
}

function printPosition(at: UserPosition): string {
  const file = at.file.slice(at.file.lastIndexOf('/') + 1);
  return formatPosition({ ...at, file });
}

/** Prints a fused op's positions, those of all its parts. */
function printPositions({ at, parts }: ProgramOp): string {
  const positions = parts ? parts.map((part) => part.at) : [at];
  return [...new Set(positions.map((each) => (each ? printPosition(each) : '')))]
    .filter((text) => text !== '')
    .join(', ');
}

function printOp(program: Program, op: ProgramOp, options: PrintOptions): string {
  const outputs = op.outputs.map((id) => printDefinition(program, id)).join(', ');
  const attrs = Object.entries(op.attrs).map(([key, value]) => `${key}=${printAttr(value)}`);
  const device = op.op.kernel.kind === 'onCpu' ? '@cpu' : '';
  const call = [
    `${op.op.name}${device} ${op.inputs.map(printValue).join(', ')}`.trimEnd(),
    ...attrs,
  ];
  const text = outputs === '' ? `  ${call.join(' ')}` : `  ${outputs} = ${call.join(' ')}`;
  const regions = (op.regions ?? []).map((region) => printRegion(region, options));
  const positions = options.positions === 'none' ? '' : printPositions(op);
  const placed = positions === '' ? text : `${text.padEnd(56)}  # ${positions}`;
  return [placed, ...regions].join('\n');
}

function printRegion({ program }: Region, options: PrintOptions): string {
  const lines = printProgram(program, options).trimEnd().split('\n');
  return ['  {', ...lines.map((line) => `    ${line}`), '  }'].join('\n');
}
