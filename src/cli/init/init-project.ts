import { existsSync, readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { ArgumentError } from '../../../runtime/errors/errors.ts';
import { packageVersion } from '../../options/package-version.ts';
import { writeInto } from '../files/write-output.ts';
import { templates } from './templates.ts';

interface InitOptions {
  readonly template: string;
}

/** `tostatic init`: writes a project that trains. Throws ArgumentError for unknown templates and folders in use. */
export function initProject(folder: string, options: InitOptions): void {
  const template = templates[options.template];
  if (!template) {
    throw new ArgumentError({
      what: 'init: no such template',
      given: `--template ${options.template}`,
      expected: Object.keys(templates).join(', '),
      remedy: 'leave it out for a project that trains in Node',
    });
  }
  const root = resolve(folder);
  // Files of version control and editors are ignored.
  const present = existsSync(root) ? readdirSync(root).filter((name) => !name.startsWith('.')) : [];
  if (present.length > 0) {
    throw new ArgumentError({
      what: 'init: the folder is not empty',
      given: `${root} with ${present.slice(0, 3).join(', ')}${present.length > 3 ? ', …' : ''}`,
      expected: 'a new or empty folder',
      remedy: 'name another one: tostatic init my-model',
    });
  }
  const name = basename(root)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  const files = template(name || 'model', `^${packageVersion}`);
  for (const [path, text] of Object.entries(files)) writeInto(join(root, path), text);
  const enter = folder === '.' ? '' : `cd ${quoted(folder)} && `;
  process.stdout.write(
    `${Object.keys(files).length} files in ${root}\n\n  ${enter}npm install && npm start\n`,
  );
}

/** Quotes a path so that a shell reads it as one word. */
function quoted(path: string): string {
  return /^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
