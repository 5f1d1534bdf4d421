import type { Node, Program } from 'acorn';
import { generate } from 'astring';
import { parse } from '../../vm/syntax/parse.ts';
import { namesOf } from './module-names.ts';

/** A part of a syntax tree: a node, or a list of nodes. */
type Tree = Record<string, unknown>;

interface Edit {
  /** The most characters that it removes: larger edits are tried first. */
  readonly size: number;
  readonly apply: () => () => void;
}

/** Returns whether a program still shows the difference. */
type InterestingnessTest = (text: string) => Promise<boolean>;

/**
 * Reduces a module while it still shows a difference: removes statements and elements, replaces calls and operators
 * by one of their operands, and makes integers smaller. Greedy delta debugging (Zeller and Hildebrandt, 2002) over
 * the syntax tree. `names`: exports to keep. Ends when nothing more can be removed, or at the deadline.
 */
export async function reduce(
  text: string,
  names: readonly string[],
  stillShows: InterestingnessTest,
  deadline: number,
): Promise<string> {
  const program = parse(text, { ecmaVersion: 'latest', sourceType: 'module' });
  const { declared } = namesOf(program);
  const tried = new Set<string>();
  let smallest = generate(program);
  const isSmaller = async (): Promise<boolean> => {
    const candidate = generate(program);
    if (candidate === smallest || tried.has(candidate) || isCut(program, declared)) return false;
    tried.add(candidate);
    if (!(await stillShows(candidate))) return false;
    smallest = candidate;
    return true;
  };
  let progress = true;
  while (progress && Date.now() < deadline) {
    progress = false;
    const edits = [...editsOf(program as unknown as Tree, names)].sort((a, b) => b.size - a.size);
    for (const { apply } of [withoutUnused(program), ...edits]) {
      if (Date.now() >= deadline) break;
      const undo = apply();
      if (await isSmaller()) progress = true;
      else undo();
    }
  }
  return smallest;
}

/** Whether a name is used whose declarations were removed: the module would throw a ReferenceError there. */
function isCut(program: Program, before: ReadonlySet<string>): boolean {
  const { declared, used } = namesOf(program);
  for (const name of used) if (before.has(name) && !declared.has(name)) return true;
  return false;
}

/** Removes all imports and top-level declarations that are never used. */
function withoutUnused(program: Program): Edit {
  const apply = () => {
    const { used } = namesOf(program);
    const undo = program.body.map((node) =>
      node.type === 'ImportDeclaration'
        ? keep(node.specifiers, ({ local }) => used.has(local.name))
        : () => {},
    );
    const isUsed = (node: Program['body'][number]) =>
      !(node.type === 'FunctionDeclaration' || node.type === 'ClassDeclaration') ||
      used.has(node.id.name);
    undo.push(keep(program.body, isUsed));
    return () => {
      for (const each of undo.reverse()) each();
    };
  };
  return { size: Number.POSITIVE_INFINITY, apply };
}

/** Filters a list in place, since edits refer to it; returns a function that undoes it. */
function keep<T>(list: T[], isKept: (element: T) => boolean): () => void {
  const before = [...list];
  list.splice(0, list.length, ...before.filter(isKept));
  return () => list.splice(0, list.length, ...before);
}

function* editsOf(node: Tree, names: readonly string[]): Generator<Edit> {
  for (const [key, child] of Object.entries(node)) {
    if (Array.isArray(child)) {
      for (const element of child as (Tree | null)[]) {
        if (!element) continue;
        if (isRemovable(node, key, element, names)) yield removal(child as Tree[], element);
        yield* simplifications(element, (next) => replaceIn(child as Tree[], element, next));
        yield* editsOf(element, names);
      }
    } else if (isNode(child)) {
      yield* simplifications(child, (next) => replaceAt(node, key, child, next));
      yield* editsOf(child, names);
    }
  }
}

function isNode(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && 'type' in value;
}

const removableLists = new Set([
  ...['body', 'elements', 'consequent', 'declarations', 'properties'],
  ...['specifiers', 'arguments'],
]);

function isRemovable(parent: Tree, key: string, element: Tree, names: readonly string[]): boolean {
  if (!removableLists.has(key) || parent.type === 'TemplateLiteral') return false;
  const declared = element.declaration as Tree | undefined;
  const id = (declared?.id ?? (declared?.declarations as Tree[] | undefined)?.[0]?.id) as
    | Tree
    | undefined;
  return !(id && names.includes(id.name as string));
}

function removal(list: Tree[], element: Tree): Edit {
  return {
    size: sizeOf(element),
    apply: () => {
      const index = list.indexOf(element);
      if (index < 0) return () => {};
      list.splice(index, 1);
      return () => list.splice(index, 0, element);
    },
  };
}

type Replace = (next: Tree) => () => void;

function replaceIn(list: Tree[], element: Tree, next: Tree): () => void {
  const index = list.indexOf(element);
  if (index < 0) return () => {};
  list[index] = next;
  return () => {
    list[index] = element;
  };
}

function replaceAt(parent: Tree, key: string, child: Tree, next: Tree): () => void {
  if (parent[key] !== child) return () => {};
  parent[key] = next;
  return () => {
    parent[key] = child;
  };
}

function* simplifications(node: Tree, replace: Replace): Generator<Edit> {
  for (const next of simpler(node)) {
    yield { size: Math.max(1, sizeOf(node) - sizeOf(next)), apply: () => replace(next) };
  }
}

function simpler(node: Tree): Tree[] {
  switch (node.type) {
    case 'CallExpression': {
      const callee = node.callee as Tree;
      const receiver = callee.type === 'MemberExpression' ? [callee.object as Tree] : [];
      return [...receiver, ...(node.arguments as Tree[])].filter(
        ({ type }) => type !== 'SpreadElement' && type !== 'Super',
      );
    }
    case 'BinaryExpression':
    case 'LogicalExpression':
      return [node.left as Tree, node.right as Tree].filter(
        ({ type }) => type !== 'PrivateIdentifier',
      );
    case 'ConditionalExpression':
      return [node.consequent as Tree, node.alternate as Tree];
    case 'IfStatement':
      return [node.consequent as Tree, ...(node.alternate ? [node.alternate as Tree] : [])];
    case 'AwaitExpression':
    case 'UnaryExpression':
      return [node.argument as Tree];
    case 'ForStatement':
    case 'ForOfStatement':
    case 'ForInStatement':
    case 'WhileStatement':
      return [node.body as Tree];
    case 'TryStatement':
      return [node.block as Tree];
    case 'Literal':
      return smallerNumbers(node);
    default:
      return [];
  }
}

function smallerNumbers({ value, start, end }: Tree): Tree[] {
  if (!Number.isInteger(value) || (value as number) < 2) return [];
  const number = value as number;
  const sizes = [...new Set([1, 2, number >> 1, number - 1])].filter((n) => n > 0 && n < number);
  return sizes.map((n) => ({ type: 'Literal', value: n, raw: String(n), start, end }));
}

function sizeOf(node: Tree): number {
  const { start, end } = node as unknown as Node;
  return end - start;
}
