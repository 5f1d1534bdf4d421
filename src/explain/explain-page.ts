/** `explain()` as an HTML page: the captured source, line by line, next to its ops. */

import { getOrInsert } from '../../runtime/collections/get-or-insert.ts';
import { ownPartOfFile } from '../../runtime/errors/own-code.ts';
import { plural } from '../../runtime/errors/plural.ts';
import { formatPosition, type UserPosition } from '../../runtime/errors/position.ts';
import type { Program, ProgramOp } from '../../runtime/program/program.ts';
import { dtypes } from '../../runtime/spec/dtype.ts';
import { sizeOf } from '../../runtime/spec/shape.ts';
import type { CompiledPart } from '../programs/compiled-part.ts';
import type { CapturedStats } from '../stats.ts';
import { type BreakRecord, breakReasons } from '../traces/graph-break.ts';
import type { Code } from '../vm/bytecode/code.ts';
import { costWarnings, type Explained } from './costs.ts';
import { escapeHtml } from './html.ts';

/** The ops and events of one source line. */
interface LineFacts {
  /** Names of forward ops, with the number of times each occurs. */
  readonly forward: Map<string, number>;
  backward: number;
  /** Bytes of the forward results. */
  bytes: number;
  readonly breaks: BreakRecord[];
  readonly parts: Set<number>;
}

type Lines = Map<string, LineFacts>;

const lineKey = ({ file, line }: UserPosition): string => `${file}:${line}`;

function factsAt(lines: Lines, at: UserPosition): LineFacts {
  const key = lineKey(at);
  return getOrInsert(lines, key, () => ({
    forward: new Map(),
    backward: 0,
    bytes: 0,
    breaks: [],
    parts: new Set(),
  }));
}

/** Returns the page as one HTML text without scripts or links. */
export function explainPage(explained: Explained): string {
  const { name, stats, parts } = explained;
  const lines: Lines = new Map();
  parts.forEach((part, index) => {
    if (part.stages) noteOps(lines, part.stages.forward, part.stages.backward, index);
  });
  for (const record of stats.breaks) if (record.at) factsAt(lines, record.at).breaks.push(record);
  const title = name || 'function';
  const shown = new Set<string>();
  const sources = sourcesOf(parts).map((code) => sourceTable(code, lines, shown));
  const elsewhere = [...lines].filter(([key]) => !shown.has(key));
  return [
    '<!doctype html><html lang="en"><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeHtml(title)}: explain</title><style>${style}</style>`,
    `<main><h1>${escapeHtml(title)}</h1>`,
    `<p>${escapeHtml(totals(stats))}</p>`,
    ...costWarnings(explained).map((text) => `<p class="cost">Costs time: ${escapeHtml(text)}</p>`),
    partsTable(parts),
    ...sources,
    elsewhere.length > 0 ? elsewhereTable(elsewhere) : '',
    ...stats.fallbacks.map(
      ({ why, at }) =>
        `<p class="break">Runs as ordinary JavaScript: ${escapeHtml(why)} ${at ? escapeHtml(formatPosition(at)) : ''}</p>`,
    ),
    '</main></html>\n',
  ].join('\n');
}

function totals({ calls, translations, graphs, ops, breaks, kernels }: CapturedStats): string {
  const all = kernels.static + kernels.eager;
  return (
    `${plural(calls, 'call')}, ${plural(translations, 'trace')}, ${plural(graphs, 'subgraph')} with ` +
    `${plural(ops, 'op')}, ${plural(breaks.length, 'graph break')}; ${kernels.static} of ${plural(all, 'kernel')} in subgraphs.`
  );
}

function noteOps(lines: Lines, forward: Program, backward: Program | null, part: number): void {
  for (const { op, outputs, at } of forward.ops) {
    if (!at) continue;
    const facts = factsAt(lines, at);
    facts.parts.add(part);
    facts.forward.set(op.name, (facts.forward.get(op.name) ?? 0) + 1);
    facts.bytes += bytesOf(forward, outputs);
  }
  for (const { at } of backward?.ops ?? []) if (at) factsAt(lines, at).backward++;
}

function bytesOf({ values }: Program, outputs: ProgramOp['outputs']): number {
  return outputs.reduce((sum, id) => {
    const { dtype, shape } = values[id]!;
    return sum + dtypes[dtype].bytes * sizeOf(shape);
  }, 0);
}

/** The code of each captured function, without duplicates. */
function sourcesOf(parts: readonly CompiledPart[]): Code[] {
  const found = new Map<string, Code>();
  for (const { trace } of parts) {
    for (const code of trace.codes) {
      // Ops of this package's modules are attributed to the line that calls them.
      if (ownPartOfFile(code.source.file) !== null) continue;
      const key = formatPosition(code.source.position(code.span.start));
      if (!found.has(key)) found.set(key, code);
    }
  }
  return [...found.values()];
}

function sourceTable(code: Code, lines: Lines, shown: Set<string>): string {
  const { source, span } = code;
  const rows: string[] = [];
  const first = source.position(span.start);
  // The user's lines. The running code may be on one line, since loaders remove line breaks.
  const last = source.position(Math.max(span.start, span.end - 1));
  const end = last.file === first.file ? last.line : first.line;
  for (let { line } = first; line <= end; line++) {
    const key = lineKey({ ...first, line });
    const facts = shown.has(key) ? undefined : lines.get(key);
    shown.add(key);
    rows.push(sourceRow(line, source.line(first.file, line) ?? '', facts));
  }
  const heading = `${code.name || 'function'} – ${formatPosition(first)}`;
  return `<h2>${escapeHtml(heading)}</h2>${table(['', 'source', 'became', 'backward', 'bytes'], rows, 'source')}`;
}

function sourceRow(line: number, text: string, facts: LineFacts | undefined): string {
  const breaks = (facts?.breaks ?? []).map((record) => breakText(record)).join('');
  return (
    `<tr><td class="number">${line}</td><td><code>${escapeHtml(text) || ' '}</code>${breaks}</td>` +
    `${factCells(facts)}</tr>`
  );
}

function breakText({ detail, reason }: BreakRecord): string {
  const { explanation, hint } = breakReasons[reason];
  return `<div class="break">Graph break: ${escapeHtml(detail)}. ${escapeHtml(explanation)} ${escapeHtml(hint)}</div>`;
}

function factCells(facts: LineFacts | undefined): string {
  if (!facts) return '<td></td><td></td><td></td>';
  const names = [...facts.forward].map(([name, count]) => (count > 1 ? `${name} ×${count}` : name));
  const part = [...facts.parts].map((index) => `#${index}`).join(' ');
  return (
    `<td>${escapeHtml([names.join(', '), part].filter((text) => text !== '').join(' · '))}</td>` +
    `<td class="number">${facts.backward > 0 ? plural(facts.backward, 'op') : ''}</td>` +
    `<td class="number">${facts.bytes > 0 ? facts.bytes.toLocaleString('en') : ''}</td>`
  );
}

function partsTable(parts: readonly CompiledPart[]): string {
  const rows = parts.flatMap(({ stages, trace, record }, index) => {
    if (!stages) return [];
    const { forward, backward } = stages.planned;
    const end = trace.outcome.kind === 'return' ? 'the return' : trace.outcome.record.detail;
    const cells = [
      `#${index}`,
      String(stages.forward.ops.length),
      end,
      forward.predicted.peakBytes.toLocaleString('en'),
      forward.predicted.savedBytes.toLocaleString('en'),
      backward ? backward.plan.predicted.peakBytes.toLocaleString('en') : '',
      String(record.runs),
    ];
    return [`<tr>${cells.map((cell) => `<td>${escapeHtml(cell)}</td>`).join('')}</tr>`];
  });
  if (rows.length === 0) return '';
  const head = [
    'subgraph',
    'ops',
    'ends at',
    'forward peak (bytes)',
    'saved',
    'backward peak',
    'runs',
  ];
  return table(head, rows);
}

function elsewhereTable(lines: readonly (readonly [string, LineFacts])[]): string {
  const rows = lines.map(
    ([key, facts]) =>
      `<tr><td>${escapeHtml(key)}${facts.breaks.map(breakText).join('')}</td>${factCells(facts)}</tr>`,
  );
  return `<h2>Functions that it calls</h2>${table(['line', 'became', 'backward', 'bytes'], rows)}`;
}

function table(head: readonly string[], rows: readonly string[], kind = ''): string {
  const cells = head.map((name) => `<th>${escapeHtml(name)}</th>`).join('');
  return `<div class="wide"><table class="${kind}"><thead><tr>${cells}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>`;
}

const style = `
:root { color-scheme: light dark; --soft: light-dark(#5c6570, #9aa4af); --rule: #8884; --mark: light-dark(#c2410c, #fb923c); }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; }
main { padding: 1.5rem; max-width: 80rem; margin: auto; }
h1, h2, p, .break { overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.2; }
h2 { font-size: 1.15rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: 0.15rem 0.6rem; border-bottom: 1px solid var(--rule); }
th { color: var(--soft); font-weight: 500; }
td.number { text-align: right; white-space: nowrap; color: var(--soft); }
code { white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.5 ui-monospace, monospace; }
.break, .cost { color: var(--mark); }
.source td:nth-child(2) { width: 55%; }
@media (max-width: 40rem) {
  main { padding: 1rem; }
  th, td { padding: 0.15rem 0.4rem; }
  .source thead { display: none; }
  .source tr { display: grid; grid-template-columns: 2.2rem 1fr auto auto; border-bottom: 1px solid var(--rule); }
  .source td { border: 0; }
  .source td:nth-child(2) { grid-column: 2 / -1; width: auto; }
  .source td:nth-child(3) { grid-column: 2; color: var(--soft); }
  .source td:empty { display: none; }
  .source td:nth-child(5):not(:empty)::after { content: ' B'; }
  .source td:nth-child(4):not(:empty)::after { content: ' backward'; }
}`;
