import { invariant } from '../../runtime/errors/invariant.ts';

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for an HTML element or a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character]!);
}

/** Prints data for a `<script type="application/json">`: no text in it can end the element. */
export function jsonForScript(data: unknown): string {
  return JSON.stringify(data).replace(/</g, '\\u003c');
}

/** Checks code of this package or a library for a `<script>`. Code can't be escaped, so it must not need it. */
export function codeForScript(code: string): string {
  invariant(!/<\/script|<!--/i.test(code), 'a script that would end its own element');
  return code;
}
