import { element } from './dom.ts';

export interface Tab {
  readonly name: string;
  /** Shown after the name. */
  readonly count?: number;
  /** Called each time the tab is shown. */
  readonly content: () => Node;
}

/** A tab list by the WAI-ARIA pattern: arrow keys, Home and End move, and the panel shows the selected tab. */
export class Tabs {
  readonly #list: HTMLElement;
  readonly #panel: HTMLElement;
  #tabs: readonly Tab[] = [];
  #buttons: readonly HTMLButtonElement[] = [];
  #chosen = '';

  constructor(list: HTMLElement, panel: HTMLElement) {
    this.#list = list;
    this.#panel = panel;
    list.addEventListener('keydown', (event) => this.#move(event));
  }

  /** Replaces all tabs; the selected one stays selected if it still exists. */
  set(tabs: readonly Tab[]): void {
    const focused = this.#list.contains(document.activeElement);
    this.#tabs = tabs;
    this.#buttons = tabs.map(({ name, count }) => {
      const id = `tab-${name.toLowerCase()}`;
      const made = element(
        'button',
        { role: 'tab', type: 'button', id, 'aria-controls': 'panel' },
        count === undefined ? name : `${name} (${count})`,
      );
      made.addEventListener('click', () => this.#choose(name));
      return made;
    });
    this.#list.replaceChildren(...this.#buttons);
    const known = tabs.some(({ name }) => name === this.#chosen);
    this.#choose(known ? this.#chosen : (tabs[0]?.name ?? ''));
    if (focused) this.#buttons.find((button) => button.tabIndex === 0)?.focus();
  }

  #choose(name: string): void {
    this.#chosen = name;
    this.#tabs.forEach((tab, i) => {
      const isChosen = tab.name === name;
      const button = this.#buttons[i]!;
      button.setAttribute('aria-selected', String(isChosen));
      button.tabIndex = isChosen ? 0 : -1;
      if (!isChosen) return;
      this.#panel.setAttribute('aria-labelledby', button.id);
      this.#panel.replaceChildren();
      // Charts measure their parent element, which must be visible.
      this.#panel.append(tab.content());
    });
  }

  #move(event: KeyboardEvent): void {
    const at = this.#buttons.indexOf(document.activeElement as HTMLButtonElement);
    const last = this.#buttons.length - 1;
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: last }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const next = this.#buttons[(to + last + 1) % (last + 1)]!;
    next.focus();
    next.click();
  }
}
