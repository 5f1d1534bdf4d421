import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { codeForScript, escapeHtml, jsonForScript } from '../explain/html.ts';
import { chartData, OpNames, type ReportLine } from './chart-data.ts';

export type { ReportLine } from './chart-data.ts';

/** Memory timelines to compare, with figures about them. */
export interface MemoryReport {
  readonly title: string;
  /** A summary of the run in one or two sentences. */
  readonly summary: string;
  /** Conditions of the measurement, as name and value. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly sections: readonly ReportSection[];
}

/** One chart and the table below it. */
export interface ReportSection {
  readonly title: string;
  readonly summary: string;
  readonly lines: readonly ReportLine[];
  readonly table: ReportTable;
  /** The label of each line, for a slider that selects a single line. */
  readonly stops?: readonly string[];
  /** Additional tables, collapsed. */
  readonly details?: readonly { readonly title: string; readonly table: ReportTable }[];
}

/** Cells as printed; the first column names the row. */
export interface ReportTable {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const require = createRequire(import.meta.url);

/** The build copies it to the page's own files; when run from the sources, it is an installed package. */
function chartLibrary(name: string): string {
  const published = new URL(`./page/${name}`, import.meta.url);
  if (existsSync(published)) return readFileSync(published, 'utf8');
  return readFileSync(join(dirname(require.resolve('uplot/package.json')), 'dist', name), 'utf8');
}

function pageFile(name: string): string {
  return readFileSync(new URL(`./page/${name}`, import.meta.url), 'utf8');
}

/** Bundles the page's modules, which import only each other, into one script. */
function pageScript(): string {
  const modules = ['format.js', 'drawing.js', 'chart.js', 'report.js'].map((name) =>
    pageFile(name)
      .replace(/^import [^;]*;$/gm, '')
      .replace(/^export /gm, ''),
  );
  return `{\n${modules.join('\n')}}\n`;
}

/**
 * Renders the report as one self-contained HTML page: it opens offline, in light and dark mode, and prints. All
 * given text is escaped. Equal reports render to equal text.
 */
export function renderReport(report: MemoryReport): string {
  const ops = new OpNames();
  const charts = report.sections.map(({ lines, stops }) => ({
    ...chartData(lines, ops),
    ...(stops && { stops }),
  }));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(report.title)}</title>
<style>${chartLibrary('uPlot.min.css')}</style>
<style>${pageFile('report.css')}</style>
</head>
<body>
<main>
<header>
<h1>${escapeHtml(report.title)}</h1>
<p class="summary">${escapeHtml(report.summary)}</p>
<dl class="facts">${report.facts.map(renderFact).join('')}</dl>
</header>
${report.sections.map(renderSection).join('\n')}
</main>
<script type="application/json" id="data">${jsonForScript({ opNames: ops.names, charts })}</script>
<script>${codeForScript(chartLibrary('uPlot.iife.min.js'))}</script>
<script>${codeForScript(pageScript())}</script>
</body>
</html>
`;
}

function renderFact([name, value]: readonly [string, string]): string {
  return `<div><dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd></div>`;
}

function renderSection(section: ReportSection, index: number): string {
  const { title, summary, table, details = [] } = section;
  return `<section>
<h2>${escapeHtml(title)}</h2>
<p class="summary">${escapeHtml(summary)}</p>
<div class="chart" data-chart="${index}"><noscript>The chart needs JavaScript; the table does not.</noscript></div>
${renderTable(table, true)}
${details.map(renderDetails).join('\n')}
</section>`;
}

function renderDetails({ title, table }: { title: string; table: ReportTable }): string {
  return `<details><summary>${escapeHtml(title)}</summary>${renderTable(table, false)}</details>`;
}

/** `keyed`: rows correspond to lines of the chart and show their colours. */
function renderTable({ head, rows }: ReportTable, keyed: boolean): string {
  const headCells = head.map((text) => `<th scope="col">${escapeHtml(text)}</th>`).join('');
  const bodyRows = rows.map((row, line) => {
    const [name = '', ...cells] = row;
    const rest = cells.map((text) => `<td>${escapeHtml(text)}</td>`).join('');
    const key = keyed ? `<i class="key" data-line="${line}"></i>` : '';
    return `<tr><th scope="row">${key}${escapeHtml(name)}</th>${rest}</tr>`;
  });
  return `<div class="table"><table>
<thead><tr>${headCells}</tr></thead>
<tbody>
${bodyRows.join('\n')}
</tbody>
</table></div>`;
}
