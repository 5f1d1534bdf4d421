import type {
  Instruction,
  InstructionOf,
  Opcode,
  Primitive,
  Reg,
} from '../bytecode/instructions.ts';
import { type Intrinsic, intrinsics } from '../bytecode/intrinsics.ts';

/** Operands with few possible values, which are stored as an index in their list. */
export const choices = {
  flag: [false, true],
  inner: [undefined, true],
  step: [1, -1],
  unary: ['-', '+', '!', '~', 'typeof', 'void'],
  // biome-ignore format: as in the type of the operators
  binary: [
    '==', '!=', '===', '!==', '<', '<=', '>', '>=',
    '+', '-', '*', '/', '%', '**', '<<', '>>', '>>>', '|', '^', '&',
    'in', 'instanceof',
  ],
  accessor: ['get', 'set'],
  mode: ['yield', 'delegate', 'return'],
  intrinsic: Object.keys(intrinsics) as readonly Intrinsic[],
} as const;

type Choices = { readonly [K in keyof typeof choices]: (typeof choices)[K][number] };

/** How operands are stored, with the type of each. */
export interface Operands extends Choices {
  readonly integer: number;
  /** A pc, relative to the instruction's own. */
  readonly pc: number;
  readonly register: Reg;
  readonly optionalRegister: Reg | undefined;
  readonly nullableRegister: Reg | null;
  readonly registers: readonly Reg[];
  readonly text: string;
  readonly texts: readonly string[];
  readonly optionalTexts: readonly (string | undefined)[];
  readonly primitive: Primitive;
}

export type OperandKind = keyof Operands;

/** The kinds whose values are exactly those of `T`. */
type KindOf<T> = {
  [K in OperandKind]: [T, Operands[K]] extends [Operands[K], T] ? K : never;
}[OperandKind];

type Layout<O extends Opcode> = {
  readonly [K in keyof Omit<InstructionOf<O>, 'op'>]-?: KindOf<
    K extends keyof InstructionOf<O> ? InstructionOf<O>[K] : never
  >;
};

/** Operands of each opcode in the order in which they are stored. A stored opcode is an index in this table. */
export const layouts: { readonly [O in Opcode]: Layout<O> } = {
  jump: { target: 'pc' },
  jumpIf: { test: 'register', target: 'pc' },
  jumpIfNot: { test: 'register', target: 'pc' },
  jumpIfNullish: { test: 'register', target: 'pc' },
  jumpIfNotUndefined: { test: 'register', target: 'pc' },
  return: { src: 'register' },
  throw: { src: 'register' },
  const: { dst: 'register', value: 'primitive' },
  regexp: { dst: 'register', pattern: 'text', flags: 'text' },
  move: { dst: 'register', src: 'register' },
  uninitialized: { dst: 'register' },
  checkInitialized: { src: 'register', name: 'text' },
  arg: { dst: 'register', index: 'integer' },
  restArgs: { dst: 'register', from: 'integer' },
  this: { dst: 'register' },
  newTarget: { dst: 'register' },
  arguments: { dst: 'register', mapped: 'flag' },
  parameterCell: { dst: 'register', arguments: 'register', index: 'integer' },
  loadFree: { dst: 'register', name: 'text' },
  storeFree: { name: 'text', src: 'register' },
  typeofFree: { dst: 'register', name: 'text' },
  newCell: { dst: 'register', name: 'text' },
  loadCell: { dst: 'register', cell: 'register', name: 'text' },
  storeCell: { cell: 'register', src: 'register', name: 'text' },
  outerCell: { dst: 'register', index: 'integer' },
  closure: {
    dst: 'register',
    code: 'integer',
    cells: 'registers',
    name: 'text',
    nameFrom: 'optionalRegister',
    home: 'optionalRegister',
  },
  class: {
    dst: 'register',
    code: 'integer',
    cells: 'registers',
    name: 'text',
    nameFrom: 'optionalRegister',
    parent: 'nullableRegister',
  },
  unary: { dst: 'register', operator: 'unary', src: 'register' },
  binary: { dst: 'register', operator: 'binary', left: 'register', right: 'register' },
  toNumeric: { dst: 'register', src: 'register' },
  increment: { dst: 'register', src: 'register', by: 'step' },
  toPropertyKey: { dst: 'register', src: 'register' },
  template: { dst: 'register', strings: 'texts', values: 'registers', inner: 'inner' },
  templateObject: { dst: 'register', strings: 'optionalTexts', raw: 'texts' },
  getProp: { dst: 'register', object: 'register', key: 'text' },
  setProp: { object: 'register', key: 'text', src: 'register' },
  getElem: { dst: 'register', object: 'register', key: 'register' },
  setElem: { object: 'register', key: 'register', src: 'register' },
  deleteProp: { dst: 'register', object: 'register', key: 'register' },
  getPrivate: { dst: 'register', object: 'register', name: 'text' },
  setPrivate: { object: 'register', name: 'text', src: 'register' },
  hasPrivate: { dst: 'register', object: 'register', name: 'text' },
  newArray: { dst: 'register', elements: 'registers' },
  arrayPush: { array: 'register', src: 'register' },
  arraySpread: { array: 'register', iterable: 'register' },
  newObject: { dst: 'register' },
  defineProp: { object: 'register', key: 'register', src: 'register' },
  defineAccessor: { object: 'register', key: 'register', accessor: 'accessor', src: 'register' },
  setPrototype: { object: 'register', src: 'register' },
  objectSpread: { object: 'register', source: 'register' },
  objectRest: { dst: 'register', source: 'register', excluded: 'registers' },
  requireObject: { src: 'register', what: 'text' },
  call: { dst: 'register', callee: 'register', receiver: 'nullableRegister', args: 'registers' },
  callSpread: {
    dst: 'register',
    callee: 'register',
    receiver: 'nullableRegister',
    args: 'register',
  },
  construct: { dst: 'register', callee: 'register', args: 'registers' },
  constructSpread: { dst: 'register', callee: 'register', args: 'register' },
  getSuper: { dst: 'register', key: 'text' },
  getSuperElem: { dst: 'register', key: 'register' },
  intrinsic: { dst: 'register', name: 'intrinsic', args: 'registers' },
  generatorStart: {},
  yield: { dst: 'register', src: 'register', mode: 'mode', target: 'pc' },
  await: { dst: 'register', src: 'register' },
  getIterator: { dst: 'register', iterable: 'register' },
  getKeyIterator: { dst: 'register', object: 'register' },
  iteratorNext: { dst: 'register', iterator: 'register', done: 'pc' },
  iteratorSkip: { iterator: 'register' },
  iteratorClose: { iterator: 'register' },
};

/** Operands of an instruction by name, for code that handles all opcodes. */
export type AnyOperands = Record<string, Operands[OperandKind]> & Pick<Instruction, 'op'>;

export const codeKinds = [
  'function',
  'arrow',
  'method',
  'constructor',
  'derivedConstructor',
] as const satisfies readonly string[];

/** Kinds of primitive constants, in the order of their tags; a number that isn't small is stored as text. */
export const primitives = {
  undefined: 0,
  null: 1,
  false: 2,
  true: 3,
  integer: 4,
  number: 5,
  bigint: 6,
  string: 7,
} as const;
