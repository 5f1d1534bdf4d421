import { describe, expect, it } from 'vitest';
import { plot, plotPage } from '../../src/index.ts';

const falling = Array.from({ length: 100 }, (_, i) => 1 / (i + 1));

describe('plot', () => {
  it('draws curves with their range and steps', () => {
    const lines = plot(falling, { width: 20, height: 5, title: 'loss' }).split('\n');
    expect(lines[0]).toBe('loss');
    expect(lines[1]).toMatch(/^ +1 ┤$|^ +1 ┤/);
    expect(lines[5]).toMatch(/^ *0\.01 ┤ +●+$/);
    expect(lines.at(-1)).toMatch(/^ +0 +99$/);
    expect(lines).toHaveLength(8);
  });

  it('draws several, with a legend, and leaves gaps where a value is not finite', () => {
    const text = plot({ train: [3, Number.NaN, 1], test: [3, 2, 2] }, { width: 3, height: 3 });
    expect(text.split('\n')).toEqual([
      '3 ┤○',
      '2 ┤ ○○',
      '1 ┤  ●',
      '  └───',
      '   0 2',
      '● train  ○ test',
    ]);
  });

  it('has a logarithmic axis', () => {
    const text = plot([100, 10, 1], { width: 3, height: 3, log: true });
    expect(text.split('\n').slice(0, 3)).toEqual(['100 ┤●', ' 10 ┤ ●', '  1 ┤  ●']);
  });

  it('rejects what has no finite value', () => {
    expect(() => plot([])).toThrow('plot: nothing to draw');
    expect(() => plot({ loss: [Number.NaN] })).toThrow('plot: nothing to draw');
  });

  it('makes a page without scripts, with names escaped', () => {
    const page = plotPage({ '<train>': [2, 1], test: [3, 2] }, { title: 'A & B' });
    expect(page).toContain('&lt;train&gt;');
    expect(page).toContain('<h1>A &amp; B</h1>');
    expect(page.match(/<polyline/g)).toHaveLength(2);
    expect(page).not.toMatch(/<script|NaN|undefined/);
  });
});
