// Tables of the fan page: clusters, the first split, impacts of the chosen branch, failures.
import { format } from './charts';
import { element } from './controls';
import { clusterColour, named, type Fan } from './fan-data';
import { css } from './theme';

const MOST_IMPACTS = 500;  // rows

const percent = (part: number, whole: number): string => `${Number(((100 * part) / whole).toPrecision(3))} %`;

function link(text: string, title: string, action: () => void): HTMLButtonElement {
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: text, title, className: 'link' });
  button.addEventListener('click', action);
  return button;
}

const bodyOf = (id: string): HTMLTableSectionElement => element(id).querySelector('tbody')!;

function cells(row: HTMLTableRowElement, texts: string[]): void {
  for (const text of texts) row.insertCell().textContent = text;
}

const describeModes = (modes: string[], count: number): string[] =>
  [...modes, ...(count > modes.length ? [`and ${count - modes.length} more impacts`] : [])];

export class ClusterTable {
  private readonly rows: HTMLTableRowElement[] = [];
  private readonly boxes: HTMLInputElement[] = [];

  constructor(private readonly fan: Fan, select: (number: number) => void, show: (cluster: number, on: boolean) => void) {
    const { clusters, cluster_count: count, branches } = fan.header;
    element('clusters-note').textContent = count > clusters.length
      ? `The ${clusters.length} largest of ${count} clusters. Those after the seventh share one colour.`
      : clusters.length > 7 ? 'Clusters after the seventh share one colour.' : '';
    clusters.forEach((cluster, k) => {
      const row = bodyOf('clusters').insertRow();
      const box = Object.assign(document.createElement('input'), { type: 'checkbox', checked: true, title: `Show cluster ${k + 1} in the plot` });
      box.setAttribute('aria-label', box.title);
      box.addEventListener('change', () => show(k, box.checked));
      this.boxes.push(box);
      const name = row.insertCell();
      const label = document.createElement('label');
      label.append(box, ` ${k + 1}`);
      name.append(label);
      const bar = Object.assign(document.createElement('div'), { className: 'share' });
      bar.style.width = `${(100 * cluster.count) / branches}%`;
      const share = row.insertCell();
      share.append(`${cluster.count} (${percent(cluster.count, branches)})`, bar);
      const modes = row.insertCell();
      const list = describeModes(cluster.modes, cluster.mode_count);
      if (list.length === 0) modes.textContent = 'no impact with more than one outcome';
      else if (list.length === 1) modes.textContent = list[0];
      else {
        const ol = document.createElement('ol');
        ol.append(...list.map((textContent) => Object.assign(document.createElement('li'), { textContent })));
        modes.append(ol);
      }
      row.insertCell().append(link(`branch ${cluster.representative}`, 'Show the branch nearest to the median of this cluster',
                                   () => select(cluster.representative)));
      cells(row, ['', '', '']);
      this.rows.push(row);
    });
    this.paint();
  }

  setCoordinate(c: number): void {
    element('end-head').textContent = `${named(this.fan.header.coordinates[c])} at the end`;
    this.rows.forEach((row, k) => this.fan.endQuantiles(k, c).forEach((v, i) => { row.cells[4 + i].textContent = format(this.fan.clean(c, v)); }));
  }

  setSelected(index: number): void {
    const cluster = this.fan.clusterOf(index);
    this.rows.forEach((row, k) => row.setAttribute('aria-selected', String(k === cluster)));
  }

  paint(): void {
    this.boxes.forEach((box, k) => {
      box.style.accentColor = css(clusterColour(k));
      this.rows[k].style.setProperty('--colour', css(clusterColour(k)));
    });
  }
}

export function fillSplit(fan: Fan, seek: (t: number) => void): void {
  const { split, first_split: time, branches, coordinates } = fan.header;
  const text = element('split-text');
  element('split-tables').hidden = !split;
  if (!split || time === null) {
    text.textContent = branches === 1 ? 'One branch has nothing to part from.'
      : 'No split: there is no impact at which the branches part.';
    return;
  }
  text.append('The branches part at the impact at ', link(`${Number(time.toPrecision(9))} s`, 'Go to this time', () => seek(time)), '.',
              split.mode_count === 1 ? ' Its contacts do the same in all of them; the velocities differ.' : '',
              split.missing > 0 ? ` ${split.missing} ${split.missing === 1 ? 'branch has' : 'branches have'} no impact there.` : '',
              split.mode_count > split.modes.length ? ` The ${split.modes.length} most frequent of ${split.mode_count} modes.` : '');
  for (const { mode, count, lost } of split.modes) {
    const [low, high] = lost.map(format);
    cells(bodyOf('split-modes').insertRow(), [mode, `${count} (${percent(count, branches)})`, low === high ? low : `${low} to ${high}`]);
  }
  split.velocities.forEach(({ before, after }, i) => {
    const c = fan.positions + i, text = (v: number) => format(fan.clean(c, v));
    cells(bodyOf('split-velocities').insertRow(), [named(coordinates[c]), before === null ? '\u2013' : text(before), ...after.map(text)]);
  });
  element('split-velocities').hidden = split.velocities.length === 0;
}

export function fillImpacts(fan: Fan, index: number, seek: (t: number) => void): void {
  const body = bodyOf('impacts'), impacts = fan.impacts(index), total = fan.impactTotal(index);
  body.replaceChildren();
  for (const { time, contacts, mode, before, after, ambiguous, collision } of impacts.slice(0, MOST_IMPACTS)) {
    const row = body.insertRow();
    row.insertCell().append(link(time.toFixed(6), 'Go to this time', () => seek(time)));
    cells(row, [String(contacts), collision ? mode : `${mode} (without collision)`, ambiguous ? 'several' : 'one', format(before), format(before - after)]);
  }
  const listed = Math.min(impacts.length, MOST_IMPACTS);
  element('impacts-title').textContent = `Impacts of branch ${fan.numbers[index]}`;
  element('impacts-note').textContent = total === 0 ? 'This branch has no impacts.'
    : listed < total ? `The first ${listed} of ${total}.` : '';
  element('impacts').hidden = total === 0;
}

export function fillFailures(fan: Fan, select: (number: number) => void): void {
  const { failures, failed } = fan.header;
  element('failures').hidden = failed === 0;
  element('failures-title').textContent = `Branches that ended early (${failed})`;
  element('failures-note').textContent = failures.length < failed ? `The first ${failures.length} of ${failed}.` : '';
  for (const { branch, end, reason } of failures) {
    const row = bodyOf('failures').insertRow();
    row.insertCell().append(link(`branch ${branch}`, 'Show this branch', () => select(branch)));
    cells(row, [`${format(end)}`, reason]);
  }
}
