import { type Code, callCode, i32, load, op } from '../assembler/code.ts';
import { type FunctionBuilder, get, type Local } from '../assembler/function-builder.ts';
import { localIndex } from '../assembler/module-builder.ts';

/**
 * Convolutions as products with the matrix of patches, which is never built: packers read it through tables of
 * offsets. What holds for all parts of a convolution lies in memory as a list of words, `geometryWords`; its tables
 * follow. `conv/geometry.ts` makes both.
 */
export const geometryWords = [
  /** The source: rows and columns of a plane, bytes of a plane, bytes from image to image. */
  ...['height', 'width', 'plane', 'imageStep'],
  /** Positions in a line, and by how many rows and columns of the source neighbours are apart. */
  ...['positions', 'strideH', 'strideW'],
  /** First row and column that the first position reads; negative in the padding. */
  ...['top', 'left'],
  /** The slice of padded planes that positions read: its rows and columns, bytes of a plane; 0: the source itself. */
  ...['sliceHeight', 'sliceWidth', 'slicePlane', 'isSliced'],
  /** Bytes between rows of weights; address of the offsets of its entries. */
  ...['laneStep', 'weightTable'],
  /** 1: the entries of a block's row of weights are adjacent. */
  ...['isRun'],
  /** Address of the offsets of patches' rows in a slice. */
  ...['rowTable'],
  /** Blocks of patches' rows that are summed apart: count, and the address of their `blockWords`. */
  ...['blocks', 'blockList'],
  /** The result: bytes from image to image, channel to channel, line to line, position to position. */
  ...['outStep', 'outChannel', 'outLine', 'outPosition'],
  /** 1: line by line without packing. */
  ...['isDirect'],
] as const;

/** First entry in the tables, entries, first channel, channels, and whether it is the first sum of its results. */
export const blockWords = 5;

export type GeometryWord = (typeof geometryWords)[number];

/** A geometry's word, as code. */
export function word(base: Local, name: GeometryWord): Code {
  return load('i32.load', get(base), geometryWords.indexOf(name) * 4);
}

const functions = [
  ...['packTableA', 'packTableB', 'packA', 'multiplyPanels', 'copyPlanes', 'directRow'],
  ...['directGradRow', 'narrowProduct'],
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
