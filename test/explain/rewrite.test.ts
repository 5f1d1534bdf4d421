import { describe, expect, it } from 'vitest';
import { rewriteOf } from '../../src/explain/rewrite.ts';
import { breakGraph, ones, type Tensor, toStatic } from '../../src/index.ts';
import type { BreakReason } from '../../src/traces/graph-break.ts';

/** The patch for the place of `marked` in the function. */
function patchOf(reason: BreakReason, text: string, marked: string): string | null {
  const start = text.indexOf(marked);
  expect(start).toBeGreaterThan(0);
  return rewriteOf(text, { start, end: start + marked.length }, reason)?.join('\n') ?? null;
}

const inFunction = (...lines: string[]): string =>
  ['function step(x, y) {', ...lines.map((line) => `  ${line}`), '}', ''].join('\n');

describe('explain/rewrite', () => {
  it('a decision on a value becomes where: assignments and returns', () => {
    const read = 'y.sum().itemSync()';
    expect(
      patchOf('data-read', inFunction(`if (${read} > 3) x = y.mul(2);`, 'return x;'), read),
    ).toBe(
      [
        '- if (y.sum().itemSync() > 3) x = y.mul(2);',
        '+ x = where(y.sum().gt(3), y.mul(2), x);',
      ].join('\n'),
    );
    expect(
      patchOf('data-read', inFunction(`if (${read} <= 0) { return x; }`, 'return y;'), read),
    ).toBe(
      [
        '- if (y.sum().itemSync() <= 0) { return x; }',
        '- return y;',
        '+ return where(y.sum().le(0), x, y);',
      ].join('\n'),
    );
    expect(
      patchOf('data-read', inFunction(`if (${read} > 0) x = y; else x = x.neg();`), read),
    ).toContain('+ x = where(y.sum().gt(0), y, x.neg());');
  });

  it('what has an effect in a branch is left to the hint', () => {
    const read = 'y.itemSync()';
    const text = inFunction(`if (${read} > 3) { log.push(1); x = y; }`, 'return x.neg();');
    expect(patchOf('data-read', text, read)).toBeNull();
    expect(
      patchOf('data-read', inFunction(`if (${read} > 3) x = y; else z = y;`), read),
    ).toBeNull();
    expect(patchOf('data-read', inFunction(`while (${read} > 3) y = y.mul(x);`), read)).toBeNull();
  });

  it('a report moves behind the computation', () => {
    const report = "console.log('sum', y.sum().itemSync())";
    const text = inFunction('const z = x.mul(y);', `${report};`, 'return z.add(1);');
    expect(patchOf('native-call', text, report)).toBe(
      [
        `- ${report};`,
        '- return z.add(1);',
        '+ const result = z.add(1);',
        `+ ${report};`,
        '+ return result;',
      ].join('\n'),
    );
    const read = 'z.itemSync()';
    const pushed = inFunction(`losses.push(${read});`, 'const a = z.mul(x);', 'return a;');
    expect(patchOf('data-read', pushed, read)).toBe(
      [
        '- losses.push(z.itemSync());',
        '- const a = z.mul(x);',
        '+ const a = z.mul(x);',
        '+ losses.push(z.itemSync());',
      ].join('\n'),
    );
  });

  it('a report stays when what it shows changes later, is needed, or in a loop', () => {
    const report = 'console.log(x)';
    const changed = inFunction(`${report};`, 'x = x.mul(y);', 'return x.neg();');
    expect(patchOf('native-call', changed, report)).toBeNull();
    const read = 'z.itemSync()';
    const needed = inFunction(`losses.push(${read});`, 'return x.mul(losses.length);');
    expect(patchOf('data-read', needed, read)).toBeNull();
    const looped = inFunction(`for (const z of y) { ${report}; }`, 'return x.neg();');
    expect(patchOf('native-call', looped, report)).toBeNull();
  });

  it('forced breaks and writes in place', () => {
    const forced = inFunction('x = x.mul(y);', 'breakGraph();', 'return x;');
    expect(patchOf('forced', forced, 'breakGraph()')).toBe('- breakGraph();');
    expect(patchOf('in-place', inFunction('x.add_(y);', 'return x;'), 'x.add_(y)')).toBe(
      ['- x.add_(y);', '+ x = x.add(y);'].join('\n'),
    );
    expect(patchOf('in-place', inFunction('z.add_(y);', 'return z;'), 'z.add_(y)')).toBeNull();
  });

  it('explain shows the patch, and the patched function has no break', () => {
    const f = toStatic((x: Tensor) => {
      let y = x.mul(2);
      if (y.sum().itemSync() > 3) y = y.neg();
      breakGraph();
      return y.add(1);
    });
    f(ones([4]));
    const text = f.explain();
    expect(text).toContain(
      [
        '  without it:',
        '    - if (y.sum().itemSync() > 3) y = y.neg();',
        '    + y = where(y.sum().gt(3), y.neg(), y);',
      ].join('\n'),
    );
    expect(text).toContain('  without it:\n    - breakGraph();\n');
  });
});
