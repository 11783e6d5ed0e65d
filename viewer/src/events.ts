// Events of runs that go through impacts in time: marks above the slider and in the plots, and a table.
import { format } from './charts';
import { element } from './controls';
import type { EventRow, Events, Replay } from './data';

const KINDS = ['impact', 'lift-off', 'rest'];  // as Events.kind

const impulse = (value: number): string => `${format(value)} N s`;

// Paths of the marks, by kind, along a box 1000 wide and 1 high.
export function markEvents({ events, frames }: Replay): void {
  const first = frames.time[0], length = frames.time[frames.time.length - 1] - first;
  if (!events || length <= 0) return;
  const paths = KINDS.map(() => [] as string[]);
  events.time.forEach((t, k) => paths[events.kind[k]].push(`M${((1000 * (t - first)) / length).toFixed(2)} 0V1`));
  KINDS.forEach((kind, k) => element('event-marks').querySelector(`.${kind}`)!.setAttribute('d', paths[k].join('')));
  element('event-marks').removeAttribute('hidden');
}

function describeContacts(row: EventRow): string[] {
  const lines = row.contacts.map((c) => {
    const where = `${c.point} on ${c.solid}`;
    if (!row.energy) return where;
    return `${where}: ${impulse(c.normal)} normal` + (c.tangential > 0 ? `, ${impulse(c.tangential)} tangential` : '');
  });
  if (row.more) lines.push(`and ${row.more} more`);
  return lines;
}

function describeLaw(row: EventRow): string {
  if (row.bounces_end !== undefined) return `last bounce by ${Number(row.bounces_end.toPrecision(7))} s`;
  if (!row.law) return '';
  const steps = `${row.steps} ${row.steps === 1 ? 'step' : 'steps'}`;
  const status = row.status === 'resolved' ? '' : `, ${row.status}`;
  const certificate = !row.certificate ? 'no certificate'
    : row.certificate.holds ? `certified${row.certificate.cap === null ? '' : `, at most ${format(row.certificate.cap)} steps`}`
    : 'certificate does not hold';
  return `${row.law}, ${steps}${status}; ${certificate}`;
}

const line = (className: string, text: string): HTMLElement =>
  Object.assign(document.createElement('div'), { className, textContent: text });

// Every row has a button that goes to its time; the one last passed is marked.
export class EventTable {
  private readonly rows: HTMLTableRowElement[] = [];
  private now = -1;

  constructor(private readonly events: Events, seek: (t: number) => void) {
    element('events').hidden = false;
    const { count, table } = events;
    element('events-title').textContent = `Events (${count})`;
    element('events-note').textContent = table.length < count ? `The first ${table.length} of ${count} events.` +
      (events.time.length < count ? ` Marks are those of the first ${events.time.length}.` : '') : '';
    const body = element('events').querySelector('tbody')!;
    for (const row of table) {
      const tr = body.insertRow();
      const button = Object.assign(document.createElement('button'), { type: 'button', textContent: row.time.toFixed(6) });
      button.title = 'Go to this time';
      button.addEventListener('click', () => seek(row.time));
      tr.insertCell().append(button);
      const what = tr.insertCell();
      what.append(line('kind', row.kind), ...describeContacts(row).map((text) => line('contact', text)), line('law', describeLaw(row)));
      what.dataset.kind = row.energy ? 'impact' : row.kind;
      tr.insertCell().textContent = row.energy ? format(row.energy[0] - row.energy[1]) : '';
      this.rows.push(tr);
    }
  }

  setTime(t: number): void {
    const { table } = this.events;
    let low = 0, high = table.length;  // the first event after t
    while (low < high) {
      const middle = (low + high) >> 1;
      if (table[middle].time <= t) low = middle + 1;
      else high = middle;
    }
    if (low - 1 === this.now) return;
    this.rows[this.now]?.removeAttribute('aria-current');
    this.now = low - 1;
    this.rows[this.now]?.setAttribute('aria-current', 'true');
  }
}
