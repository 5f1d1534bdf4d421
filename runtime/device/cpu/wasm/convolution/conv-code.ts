import { type Code, callCode, i32, load, op } from '../assembler/code.ts';
import { type FunctionBuilder, get, type Local } from '../assembler/function-builder.ts';
import { localIndex } from '../assembler/module-builder.ts';

/** Bytes between groups of a kernel's two operands, and of its result. */
export const groupSteps = ['firstStep', 'secondStep', 'resultStep'] as const;
export type GroupSteps = Readonly<Record<(typeof groupSteps)[number], number>>;

/**
 * Convolutions as products with the matrix of patches, which is never materialized: packers read it through tables
 * of offsets. Data shared by all parts of a convolution is in memory as a list of words, `geometryWords`, followed
 * by its tables. `conv/geometry.ts` creates both.
 */
export const geometryWords = [
  /** The source: rows and columns of a plane, bytes of a plane, bytes between images. */
  ...['height', 'width', 'plane', 'imageStep'],
  /** Positions per line, and the rows and columns of the source between adjacent positions. */
  ...['positions', 'strideH', 'strideW'],
  /** The first row and column that the first position reads; negative in the padding. */
  ...['top', 'left'],
  /** The slice of padded planes to read: rows and columns, bytes of a plane; 0 to read the source itself. */
  ...['sliceHeight', 'sliceWidth', 'slicePlane', 'isSliced'],
  /** Bytes between weight rows; the address of the offsets of their entries. */
  ...['laneStep', 'weightTable'],
  /** 1 if the entries of a block's weight row are adjacent. */
  ...['isRun'],
  /** The address of the offsets of patch rows in a slice. */
  ...['rowTable'],
  /** Blocks of patch rows that are summed separately: their count, and the address of their `blockWords`. */
  ...['blocks', 'blockList'],
  /** The result: bytes between images, channels, lines and positions. */
  ...['outStep', 'outChannel', 'outLine', 'outPosition'],
  /** 1 to compute line by line without packing. */
  ...['isDirect'],
  ...groupSteps,
] as const;

/**
 * The first entry in the tables, number of entries, first channel, number of channels, and whether it is the first
 * sum of its results.
 */
export const blockWords = 5;

export type GeometryWord = (typeof geometryWords)[number];

/** A geometry's word, as code. */
export function word(base: Local, name: GeometryWord): Code {
  return load('i32.load', get(base), geometryWords.indexOf(name) * 4);
}

const functions = [
  ...['packTableA', 'packTableB', 'packA', 'multiplyPanels', 'copyPlanes', 'directRow'],
  ...['directGradRow', 'narrowProduct', 'convolve', 'convolveWeightGrad'],
] as const;

export function call(f: FunctionBuilder, name: (typeof functions)[number], ...args: Code[]): void {
  f.emit(callCode(localIndex(functions.indexOf(name)), ...args));
}

export const add = (a: Code, b: Code): Code => op('i32.add', a, b);
export const sub = (a: Code, b: Code): Code => op('i32.sub', a, b);
export const mul = (a: Code, b: Code): Code => op('i32.mul', a, b);
export const bytes = (elements: Code): Code => op('i32.shl', elements, i32(2));
export const least = (a: Code, b: Code): Code => op('select', a, b, op('i32.lt_s', a, b));
export const most = (a: Code, b: Code): Code => op('select', a, b, op('i32.gt_s', a, b));
