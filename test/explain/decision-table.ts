import { becomes } from '../../src/explain/decisions.ts';
import { keptBecause } from '../../src/traces/kept-loops.ts';

/** What `explain()` says of decisions, as the table of `docs/full-graph.md`. */
export function decisionTable(): string {
  const rows = Object.entries(becomes).map(([name, { site, became, why }]) => {
    const kept = name === 'while' ? `; ${Object.values(keptBecause).join('; ')}` : '';
    return `| ${site} | ${became} | ${why}${kept} |`;
  });
  return ['| at | what became of it | why |', '| --- | --- | --- |', ...rows].join('\n');
}
