import { badWeights, shown } from '../../weights/bad-file.ts';
import type { OnnxNode } from '../format/proto.ts';

/** The number of required leading operands, if not one. */
const required: Readonly<Record<string, number>> = {
  Constant: 0,
  Loop: 0,
  ...counted(2, [
    ...['Add', 'Sub', 'Mul', 'Div', 'Pow', 'Mod', 'PRelu', 'CastLike', 'MatMul', 'Gemm', 'Conv'],
    ...['And', 'Or', 'Xor', 'Equal', 'Less', 'LessOrEqual', 'Greater', 'GreaterOrEqual'],
    ...['Gather', 'GatherElements', 'GatherND', 'LayerNormalization', 'ConvTranspose'],
    ...['CumSum', 'TopK', 'Reshape', 'Expand', 'Tile', 'Pad'],
  ]),
  ...counted(3, [
    ...['Where', 'ScatterElements', 'ScatterND', 'OneHot', 'Range', 'Slice'],
    ...['InstanceNormalization', 'GroupNormalization', 'LSTM', 'GRU', 'RNN'],
  ]),
  BatchNormalization: 5,
};

/** Operators that read all operands, however many. */
const withoutOptional = new Set([
  ...['Max', 'Min', 'Sum', 'Mean', 'Concat', 'Einsum'],
  ...['BatchNormalization', 'InstanceNormalization', 'GroupNormalization'],
]);

function counted(count: number, names: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries(names.map((name) => [name, count]));
}

/** Throws DataError if the node lacks an operand. */
export function checkOperands({ opType = '', name = '', input }: OnnxNode): void {
  const fewest = Object.hasOwn(required, opType) ? required[opType]! : 1;
  const least = withoutOptional.has(opType) ? Math.max(fewest, input.length) : fewest;
  if (input.length >= least && !input.slice(0, least).includes('')) return;
  throw badWeights(
    'onnx',
    `${opType} ${shown(name)}`,
    `operands ${input.map(shown).join(', ')}`,
    `at least ${least}`,
  );
}
