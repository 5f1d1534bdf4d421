import { describe, expect, test } from 'vitest';
import { TextError } from '../../examples/playground/worker/text-places.ts';
import { evaluate } from '../../examples/playground/worker/user-module.ts';
import { refcounted, Tensor } from '../../src/index.ts';

function exportsOf(text: string): Record<string, unknown> {
  return evaluate(text, () => {}).exports as Record<string, unknown>;
}

function mistakeIn(text: string): TextError {
  try {
    exportsOf(text);
  } catch (error) {
    if (error instanceof TextError) return error;
    throw error;
  }
  throw new Error('no TextError was thrown');
}

function stackOf(run: () => unknown): string | undefined {
  try {
    run();
  } catch (error) {
    return (error as Error).stack;
  }
  throw new Error('nothing was thrown');
}

describe('typed text', () => {
  test('is executed with its types stripped', () => {
    const { total, Kind, make } = exportsOf(`
      import { tensor, type Tensor } from 'tostatic';
      export enum Kind { small, large = 4 }
      interface Shape<T> { readonly side: T }
      abstract class Base<T extends number> { constructor(protected readonly shape: Shape<T>) {} abstract area(): number }
      class Square extends Base<number> { area(): number { return this.shape.side ** 2 } }
      export const total = new Square({ side: 3 } satisfies Shape<number>).area() as unknown;
      export function make(this: void, n: number, ...rest: readonly number[]): Tensor { return tensor([n!, ...rest]); }
    `);
    expect(total).toBe(9);
    expect(Kind).toMatchObject({ small: 0, large: 4 });
    expect((make as (n: number) => unknown)(2)).toBeInstanceOf(Tensor);
  });

  test('is linked to the library by name and as a namespace', () => {
    const { one, other } = exportsOf(`
      import { ones as made } from 'tostatic';
      import * as all from 'tostatic';
      const one = made([2]);
      const other = all.zeros([3]);
      export { one, other };
    `);
    expect((one as Tensor).tolist()).toEqual([1, 1]);
    expect((other as Tensor).tolist()).toEqual([0, 0, 0]);
  });

  test('logs to the page', () => {
    const lines: string[] = [];
    evaluate(`console.log('a', 1); export const x = 1;`, (line) => lines.push(line));
    expect(lines).toEqual(['a 1']);
  });
});

describe('a mistake in the text', () => {
  test.each([
    ['a syntax error', 'export const x = 1;\nexport function f( { }', 2],
    ['another module', `export const x = 1;\nimport fs from 'node:fs';\nfs.x();`, 2],
    ['a name that is not exported', `import {\n  nothing,\n} from 'tostatic';\nnothing();`, 2],
    ['a default export', 'const f = 1;\n\nexport default f;', 3],
    [
      'a construct that has no bytecode',
      'export function f() {\n  return eval("1");\n}\nwith ({}) {}',
      4,
    ],
  ])('%s is named with its line', (_, text, line) => {
    expect(mistakeIn(text)).toMatchObject({ line });
  });

  test.each([
    ['its own statements', 'export const x = 1;\nundefinedName();', 2],
    ['a function that it calls', 'const f = () => {\n  undefinedName();\n};\nf();', 2],
    ['a method', 'class A {\n  m() {\n    return this.absent.x;\n  }\n}\nnew A().m();', 3],
  ])('an exception of %s has its line in the stack', (_, text, line) => {
    expect(stackOf(() => evaluate(text, () => {}))).toContain(`playground.ts:${line}:`);
  });

  test('an exception of an eager step has its line in the stack', () => {
    const { step } = exportsOf('export function step(x) {\n  return x.\n    absent();\n}');
    expect(stackOf(() => refcounted(step as () => unknown)())).toContain('playground.ts:3:5');
  });

  test('has its column behind types', () => {
    const at = mistakeIn(
      `const f = (x: number, y: string): void => {}; import { a as b } from 'tostatic'; b();`,
    );
    expect(at.message).toContain("'tostatic' exports no 'a'");
    expect(at.column).toBe(56);
  });
});
