import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { EditorState, RangeSetBuilder, StateEffect, StateField } from '@codemirror/state';
import {
  EditorView,
  GutterMarker,
  gutter,
  highlightActiveLine,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { PlacedText } from '../messages.ts';

export interface Remark extends PlacedText {
  readonly severity: 'error' | 'warning';
}

type OpsByLine = readonly (readonly [line: number, ops: readonly string[]])[];

class OpCount extends GutterMarker {
  readonly ops: readonly string[];

  constructor(ops: readonly string[]) {
    super();
    this.ops = ops;
  }

  override eq(other: OpCount): boolean {
    return other.ops === this.ops;
  }

  override toDOM(): Node {
    const made = document.createElement('span');
    made.textContent = String(this.ops.length);
    made.title = this.ops.join(' ');
    return made;
  }
}

const setOps = StateEffect.define<OpsByLine>();

const opCounts = StateField.define({
  create: () => new RangeSetBuilder<GutterMarker>().finish(),
  update(counts, transaction) {
    let changed = counts.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setOps)) continue;
      const { doc } = transaction.state;
      const builder = new RangeSetBuilder<GutterMarker>();
      for (const [line, ops] of [...effect.value].sort(([a], [b]) => a - b)) {
        if (line > doc.lines) continue;
        const { from } = doc.line(line);
        builder.add(from, from, new OpCount(ops));
      }
      changed = builder.finish();
    }
    return changed;
  },
});

const colors = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--keyword)' },
  { tag: [tags.string, tags.regexp], color: 'var(--string)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--number)' },
  { tag: tags.comment, color: 'var(--soft)', fontStyle: 'italic' },
  { tag: [tags.typeName, tags.className], color: 'var(--type)' },
  { tag: tags.function(tags.variableName), color: 'var(--function)' },
  { tag: tags.function(tags.propertyName), color: 'var(--function)' },
]);

/** A TypeScript editor with line numbers, op counts and diagnostics. */
export class Editor {
  readonly #view: EditorView;

  constructor(place: HTMLElement, text: string, changed: () => void) {
    this.#view = new EditorView({
      parent: place,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          lintGutter(),
          history(),
          indentOnInput(),
          bracketMatching(),
          highlightActiveLine(),
          javascript({ typescript: true }),
          syntaxHighlighting(colors),
          opCounts,
          gutter({
            class: 'ops',
            side: 'after',
            markers: (view) => view.state.field(opCounts),
          }),
          keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
          EditorView.contentAttributes.of({
            'aria-label': 'The function to capture',
            tabindex: '0',
          }),
          EditorView.updateListener.of(({ docChanged }) => {
            if (docChanged) changed();
          }),
        ],
      }),
    });
  }

  get text(): string {
    return this.#view.state.doc.toString();
  }

  set text(text: string) {
    const { doc } = this.#view.state;
    this.#view.dispatch({ changes: { from: 0, to: doc.length, insert: text } });
  }

  show(remarks: readonly Remark[], ops: OpsByLine): void {
    const { state } = this.#view;
    const diagnostics = remarks.map(({ line, column, message, severity }): Diagnostic => {
      const place = state.doc.line(Math.min(Math.max(line, 1), state.doc.lines));
      const from = Math.min(place.from + Math.max(column - 1, 0), place.to);
      const word = /^[\w$]+/.exec(state.sliceDoc(from, place.to))?.[0] ?? ' ';
      return { from, to: Math.min(from + word.length, place.to), severity, message };
    });
    this.#view.dispatch(setDiagnostics(state, diagnostics), { effects: setOps.of(ops) });
  }
}
