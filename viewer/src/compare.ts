// The run and its ghost: what each of them is, and how far apart they are.
import { Vector3 } from 'three';
import { element } from './controls';
import { lastTime, type RunData } from './data';
import { Motion } from './motion';

const PLACES = ['root', 'centre'] as const;
type Place = (typeof PLACES)[number];

// Distances [m] between the first bodies and between the centres of mass.
export class Comparison {
  readonly from: number;  // [s] the time both runs cover, if to >= from
  readonly to: number;
  readonly largest: Partial<Record<Place, { distance: number; time: number }>> = {};  // of the frames of both runs

  constructor(private readonly run: Motion, private readonly ghost: Motion) {
    const times = run.run.frames.time, others = ghost.run.frames.time;
    this.from = Math.max(times[0], others[0]);
    this.to = Math.min(lastTime(run.run), lastTime(ghost.run));
    for (const time of [...times, ...others].filter((t) => this.covers(t)).sort((a, b) => a - b))
      for (const place of PLACES) {
        const distance = this.distance(place, time);
        if (distance > (this.largest[place]?.distance ?? -1)) this.largest[place] = { distance, time };
      }
  }

  covers(t: number): boolean {
    return t >= this.from && t <= this.to;
  }

  distance(place: Place, t: number): number {
    return this.run[place](t, new Vector3()).distanceTo(this.ghost[place](t, new Vector3()));
  }
}

const metres = (x: number): string => `${Number(x.toPrecision(4))} m`;
const seconds = (t: number): string => `${Number(t.toPrecision(6))} s`;

// "pbd, dt 0.05 s" or "pbd-nmdp2, accuracy 0.0001 m", as far as the run says so.
function describeRun(run: RunData): string {
  const setting = (name: string) => run.settings.find(([key]) => key === name)?.[1];
  const dt = setting('dt');
  const accuracy = setting('accuracy');
  return [setting('integrator'), dt ? `dt ${dt}` : accuracy && `accuracy ${accuracy}`].filter((text) => text).join(' \u00b7 ');
}

export class ComparePanel {
  private beside = false;
  private time = 0;

  constructor(private readonly run: RunData, private readonly ghost: RunData, private readonly comparison: Comparison,
              private readonly offset: number | undefined) {
    element('compare').hidden = false;
    for (const [id, data] of [['legend-run', run], ['legend-ghost', ghost]] as const) {
      const row = element(id);
      row.querySelector('.name')!.textContent = data.title || data.model;
      const status = data.status === 'complete' ? '' : data.status.replace('_', ' ');
      const words = data === ghost ? ['ghost', describeRun(data), status] : [describeRun(data)];
      row.querySelector('.what')!.textContent = words.filter((text) => text !== '').join(' \u00b7 ');
    }
    for (const place of PLACES) {
      const most = this.comparison.largest[place];
      element(`${place}-most`).textContent = most ? metres(most.distance) + (most.distance > 0 ? ` at ${seconds(most.time)}` : '') : '\u2013';
    }
  }

  setTime(t: number): void {
    this.time = t;
    const both = this.comparison.covers(t);
    for (const place of PLACES) element(`${place}-now`).textContent = both ? metres(this.comparison.distance(place, t)) : '\u2013';
    this.updateNote();
  }

  setBeside(on: boolean): void {
    this.beside = on;
    this.updateNote();
  }

  private updateNote(): void {
    const first = this.ghost.frames.time[0], last = lastTime(this.ghost);
    const ended = this.time > last, waiting = this.time < first;
    const notes = [
      ended ? `The ghost ended at ${seconds(last)} and stays at its last pose.` : '',
      waiting ? `The ghost starts at ${seconds(first)}.` : '',
      !ended && last < lastTime(this.run) ? `The ghost ends at ${seconds(last)}.` : '',
      this.beside && this.offset !== undefined ? `The ghost is drawn ${metres(this.offset)} beside the run, along y.` : '',
    ];
    const note = element('ghost-note');
    note.textContent = notes.filter((text) => text !== '').join(' ');
    note.hidden = note.textContent === '';
    note.classList.toggle('ended', ended);
  }
}
