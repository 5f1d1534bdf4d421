import { breakReasons, isLimitation } from '../traces/graph-break.ts';

/** The catalogue of what ends a graph, as a page: what `docs/diagnostics.md` holds. */
export function diagnosticsPage(): string {
  const entries = Object.entries(breakReasons).map(([id, { explanation, hint }]) => {
    const limitation = isLimitation(id as keyof typeof breakReasons);
    const note = limitation ? ' tostatic could trace it, and does not yet.' : '';
    return `## \`${id}\`\n\n${explanation}${note}\n\n**Remedy:** ${hint}\n`;
  });
  return `${header}\n${entries.join('\n')}`;
}

const header = `# What ends a graph

Each reason has a name, under which \`stats().breaks\`, \`explain()\` and the log show it. Without \`fullGraph\` the graph breaks there and the code goes on; with \`fullGraph: true\` it
is a \`FullGraphError\`, except \`throw\`, where the function throws its own error, and \`op-error\`, where the op's error is thrown with the user's lines.
`;
