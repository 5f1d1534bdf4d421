import { type Host, hostOf, isHost, numbersIn, type Value } from './values/host.ts';

/**
 * Operands that configure an operator: bounds, sizes, axes, flags. If stored in the file, they become JavaScript
 * numbers, whatever their type, so that compiled programs know them.
 */
const settingsOf: Readonly<Record<string, readonly number[]>> = {
  Clip: [1, 2],
  ConstantOfShape: [0],
  CumSum: [1],
  Dropout: [1, 2],
  Expand: [1],
  If: [0],
  Loop: [0, 1],
  OneHot: [1],
  Pad: [1, 2, 3],
  Pow: [1],
  Range: [0, 1, 2],
  Reshape: [1],
  Resize: [1, 2, 3],
  Slice: [1, 2, 3, 4],
  Split: [1],
  Squeeze: [1],
  Tile: [1],
  TopK: [1],
  Trilu: [1],
  Unsqueeze: [1],
};

/** Whether operand `i` is a setting. */
export function isSetting(opType: string, i: number): boolean {
  if (opType.startsWith('Reduce')) return i === 1;
  return Object.hasOwn(settingsOf, opType) && settingsOf[opType]!.includes(i);
}

/** Operators that compute JavaScript numbers from JavaScript numbers. */
const ofNumbers = new Set([
  ...['Add', 'Sub', 'Mul', 'Div', 'Pow', 'Mod', 'Max', 'Min', 'Sum', 'Neg', 'Abs', 'Sqrt', 'Floor'],
  ...['Ceil', 'Round', 'Cast', 'Identity', 'Where', 'Equal', 'Less', 'LessOrEqual', 'Greater'],
  ...['GreaterOrEqual', 'And', 'Or', 'Xor', 'Not', 'Concat', 'Gather', 'Slice', 'Split', 'Squeeze'],
  ...['Unsqueeze', 'Reshape', 'Transpose', 'Expand', 'ScatterND', 'ReduceSum', 'ReduceProd'],
  ...['ReduceMax', 'ReduceMin'],
]);

/**
 * Whether a node's results are JavaScript numbers: sizes of tensors, or values computed only from numbers and
 * constants of the file.
 */
export function givesNumbers(
  opType: string,
  operands: readonly { readonly isNumber: boolean; readonly constant: Value | undefined }[],
): boolean {
  if (opType === 'Shape' || opType === 'Size') return true;
  return (
    ofNumbers.has(opType) &&
    operands.some(({ isNumber }) => isNumber) &&
    operands.every(({ isNumber, constant }) => isNumber || (constant && settingOf(constant)))
  );
}

/** Settings have one or two numbers per dimension; anything larger, such as an exponent table, is data. */
const mostNumbers = 64;

/** Returns the numbers of a tensor in the file; null if there are too many for a setting. */
export function settingOf(value: Value): Host | null {
  if (isHost(value)) return value;
  if (value.numel() > mostNumbers) return null;
  return hostOf(numbersIn(value), value.shape, value.dtype);
}
