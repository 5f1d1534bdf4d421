import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { codeForScript, escapeHtml, jsonForScript } from '../../src/explain/html.ts';
import { type MemoryReport, renderReport } from '../../src/lab/report.ts';
import { timelineOf } from './timelines.ts';

const hostile = '</script><img src=x onerror="alert(1)">&\'';

function reportWith(text: string): MemoryReport {
  const lines = ['eager', text].map((name) => ({
    name,
    timeline: timelineOf(
      {
        forward: [
          ['matmul', 128],
          [text, 64],
        ],
        backward: [['matmulGrad', -64]],
      },
      4096,
    ),
  }));
  const table = { head: ['way', text], rows: lines.map(({ name }) => [name, '4,288']) };
  const section = { title: text, summary: text, lines, table };
  return { title: text, summary: text, facts: [[text, text]], sections: [section, section] };
}

/** Text of the elements with this tag. */
function contentsOf(html: string, tag: string): string[] {
  const pattern = new RegExp(`<${tag}[^>]*>(.*?)</${tag}>`, 'gs');
  return Array.from(html.matchAll(pattern), ([, content]) => content!);
}

describe('report', () => {
  const html = renderReport(reportWith('relu'));

  it('loads nothing from elsewhere', () => {
    expect(html).not.toMatch(/\b(?:src|href)\s*=/i);
    expect(html).not.toMatch(/@import|url\(/i);
    expect(html).not.toMatch(/<(?:link|iframe|object|embed)\b/i);
    expect(html).not.toMatch(/\b(?:fetch|XMLHttpRequest|WebSocket|import)\s*\(/);
  });

  it('is the same text for the same report', () => {
    expect(renderReport(reportWith('relu'))).toBe(html);
  });

  it('holds the tables as text, readable without scripts', () => {
    expect(contentsOf(html, 'td')).toContain('4,288');
    expect(html).toContain('<noscript>');
  });

  it('holds ops, bytes and phases of each line', () => {
    const data = JSON.parse(contentsOf(html, 'script')[0]!);
    expect(data.opNames).toEqual(['matmul', 'relu', 'matmulGrad']);
    expect(data.charts).toHaveLength(2);
    expect(data.charts[0].lines[0]).toEqual({
      name: 'eager',
      before: 4096,
      duration: 4,
      points: [
        [1, 4224, 128, 0],
        [2, 4288, 64, 1],
        [3, 4224, -64, 2],
      ],
      phases: [
        ['forward', 0],
        ['backward', 2],
      ],
    });
    expect(data.charts[0].opAxis.slots).toEqual([
      [0, 1],
      [1, 3],
      [2, 5],
    ]);
  });

  it('has scripts that parse', () => {
    const [, ...scripts] = contentsOf(html, 'script');
    expect(scripts).toHaveLength(2);
    for (const script of scripts) {
      expect(() => runInNewContext(`() => {${script}}`)).not.toThrow();
      expect(script).not.toMatch(/^(?:import|export) /m);
    }
  });

  it('escapes every text', () => {
    const page = renderReport(reportWith(hostile));
    expect(page).not.toContain('<img');
    expect(contentsOf(page, 'script')).toHaveLength(3);
    const data = JSON.parse(contentsOf(page, 'script')[0]!);
    expect(data.opNames).toContain(hostile);
    expect(data.charts[0].lines[1].name).toBe(hostile);
    expect(contentsOf(page, 'h1')).toEqual([escapeHtml(hostile)]);
  });
});

describe('html', () => {
  it('escapes text for elements and attributes', () => {
    expect(escapeHtml('a < b && "c" > \'d\'')).toBe(
      'a &lt; b &amp;&amp; &quot;c&quot; &gt; &#39;d&#39;',
    );
  });

  it('writes data so that it can not end its script', () => {
    const text = jsonForScript({ text: '</script><!--' });
    expect(text).not.toContain('<');
    expect(JSON.parse(text)).toEqual({ text: '</script><!--' });
  });

  it('refuses code that would end its script', () => {
    expect(codeForScript('a < b')).toBe('a < b');
    expect(() => codeForScript("'</script>'")).toThrow('end its own element');
  });
});
