import uPlot from 'uplot';

const height = 180;

/** A line that grows step by step. */
export class Curve {
  readonly #place: HTMLElement;
  readonly #data: [number[], number[]] = [[], []];
  #plot: uPlot | undefined;
  #isDue = false;

  constructor(place: HTMLElement) {
    this.#place = place;
    this.#make();
    window.addEventListener('resize', () => {
      this.#plot?.setSize({ width: place.clientWidth, height });
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#make());
  }

  clear(): void {
    for (const values of this.#data) values.length = 0;
    this.#draw();
  }

  add(x: number, y: number): void {
    this.#data[0].push(x);
    this.#data[1].push(y);
    this.#draw();
  }

  /** Draws once per frame, however many values arrived. */
  #draw(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#plot?.setData(this.#data);
    });
  }

  #make(): void {
    this.#plot?.destroy();
    const color = (name: string) =>
      getComputedStyle(document.documentElement).getPropertyValue(name);
    const axis: uPlot.Axis = {
      stroke: color('--soft'),
      grid: { stroke: color('--grid'), width: 1 },
      ticks: { show: false },
      font: '12px system-ui, sans-serif',
    };
    this.#plot = new uPlot(
      {
        width: this.#place.clientWidth,
        height,
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false }, y: { range: (_, __, max) => [0, max * 1.05 || 1] } },
        series: [{}, { stroke: color('--line-2'), width: 1.5, points: { show: false } }],
        axes: [axis, { ...axis, size: 48 }],
      },
      this.#data,
      this.#place,
    );
  }
}
