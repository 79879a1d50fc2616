import { distanceOf, knownNames, nearestNames } from '../src/errors.js';

describe('known names', () => {
  it('are all listed if they are few', () => {
    expect(knownNames('x', [])).toBe('there are none');
    expect(knownNames('x', ['name', 'color'])).toBe('known: name, color');
  });

  it('are the nearest of many', () => {
    const names = ['device_name', 'hostname', 'os_version', 'name', 'model_name', 'serial_number'];
    const many = [...names, ...Array.from({ length: 20 }, (_, index) => `column_${index}`)];
    expect(knownNames('nam', many)).toBe(
      'the nearest of 26 known ones: name, hostname, model_name, device_name, column_0 ' +
        '(/api/v1/openapi.json has all)',
    );
    expect(nearestNames('SERIALNUMBER', many)[0]).toBe('serial_number');
  });

  it('of a very long unknown name are found in a moment', () => {
    const many = Array.from({ length: 200 }, (_, index) => `column_number_${index}`);
    const started = process.cpuUsage();
    expect(knownNames('x'.repeat(60_000), many)).toMatch(/^the nearest of 200 known ones: /);
    expect(process.cpuUsage(started).user).toBeLessThan(500_000);
  });

  it('differ by letters that are added, left out or replaced', () => {
    const distances = [
      ['kitten', 'sitting'],
      ['', 'abc'],
      ['same', 'same'],
      ['PUBLIC_ULR', 'PUBLIC_URL'],
    ].map(([one = '', other = '']) => distanceOf(one, other));
    expect(distances.map(Math.round)).toEqual([3, 3, 0, 2]);
  });
});
