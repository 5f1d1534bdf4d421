import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';

/**
 * A fixture is one Markdown file: a title, then sections of fenced text. Input sections are written by
 * hand; the others are what the run must give, and are rewritten with UPDATE_FIXTURES=1.
 */
export interface Fixture {
  readonly title: string;
  readonly sections: ReadonlyMap<string, string>;
}

const section = /^## (.+)\n+```\w*\n([\s\S]*?)\n?```$/gm;

export function readFixture(url: URL): Fixture {
  const text = readFileSync(url, 'utf8');
  const title = /^# (.+)$/m.exec(text)?.[1] ?? '';
  const found = [...text.matchAll(section)].map(([, name, body]) => [name!, body!] as const);
  return { title, sections: new Map(found) };
}

/** Compares the sections that the run gives, or writes them. */
export function checkFixture(url: URL, actual: ReadonlyMap<string, string>): void {
  const fixture = readFixture(url);
  const sections = new Map([...fixture.sections, ...actual]);
  const text = [
    `# ${fixture.title}\n`,
    ...[...sections].map(([name, body]) => {
      const language = name === 'Input' || name === 'Calls' ? 'js' : 'text';
      return `## ${name}\n\n\`\`\`${language}\n${body}\n\`\`\`\n`;
    }),
  ].join('\n');
  if (process.env['UPDATE_FIXTURES'] === '1') writeFileSync(url, text);
  else expect(text).toBe(readFileSync(url, 'utf8'));
}
