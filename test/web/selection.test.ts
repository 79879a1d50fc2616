import {
  countOf,
  type SelectionState,
  selectionFor,
  toggled,
} from '../../web/src/features/devices/selection/selection.js';

const NONE: SelectionState = { filter: 'macOS', isAll: false, ids: new Set() };

describe('the selection of rows', () => {
  it('gains a row, and loses it again', () => {
    const one = toggled(NONE, 7);
    expect([...one.ids]).toEqual([7]);
    expect([...toggled(one, 7).ids]).toEqual([]);
    expect([...NONE.ids]).toEqual([]);
  });

  it('begins anew with one row after all that match', () => {
    const all = { ...NONE, isAll: true };
    expect(countOf(all, 1200)).toBe(1200);
    expect(toggled(all, 7)).toEqual({ filter: 'macOS', isAll: false, ids: new Set([7]) });
  });

  it('is empty with another filter', () => {
    const chosen = toggled(NONE, 7);
    expect(selectionFor('macOS', chosen)).toBe(chosen);
    expect(countOf(selectionFor('iOS', chosen), 1200)).toBe(0);
    expect(selectionFor('iOS', { ...NONE, isAll: true }).isAll).toBe(false);
  });
});
