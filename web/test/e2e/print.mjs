// What comes out of the printer: pages as a whole, without what is pressed.
import { assertEqual, open } from '../support/steps.mjs';

/** The number of sheets, and what of the page they hold. */
async function print(page) {
  const pdf = (await page.pdf({ format: 'A4' })).toString('latin1');
  return pdf.match(/\/Type\s*\/Page\b/g)?.length ?? 0;
}

/** The height of the content on sheets of this width, and what is not to be printed. */
async function printed(page) {
  await page.emulateMedia({ media: 'print' });
  try {
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    const pressed = await page.locator('nav:visible, .button:visible').count();
    return { height, pressed };
  } finally {
    await page.emulateMedia({ media: null });
  }
}

/** Where the columns of a row begin: the one of headings is the first row. */
async function columnsOnPaper(page, row) {
  await page.emulateMedia({ media: 'print' });
  try {
    const cells = page.getByRole('row').nth(row).locator(':scope > *');
    const edges = await cells.evaluateAll((list) =>
      list.map((cell) => Math.round(cell.getBoundingClientRect().left)),
    );
    return edges.slice(1).join(' ');
  } finally {
    await page.emulateMedia({ media: null });
  }
}

export const TASKS = {
  'the page of a device is printed as a whole': async (session) => {
    const { page, lab } = session;
    const filter = 'filter[platform]=macOS&filter[is_enrolled]=true';
    const { data } = await lab.api('GET', `/devices?page[size]=1&${filter}`);
    await open(session, `/devices/${data[0].id}?tab=applications`);
    await page.getByRole('row').nth(40).waitFor();
    const { height, pressed } = await printed(page);
    assertEqual(pressed, 0, 'navigation and buttons');
    const sheets = await print(page);
    assertEqual(height > 1500 && sheets > 1, true, `${sheets} sheets of ${height} pixels`);
  },

  'a list is printed with all of its rows': async (session) => {
    const { page, lab } = session;
    await lab.query(
      `insert into devices (serial_number, device_name)
       select 'PRINT' || n, 'Printed ' || n from generate_series(1, 90) n`,
    );
    try {
      await open(session, '/devices?q=PRINT');
      await page.getByText('90 devices', { exact: true }).waitFor();
      assertEqual((await page.getByRole('row').count()) < 91, true, 'rows are virtual');
      assertEqual((await printed(page)).pressed, 0, 'navigation and buttons');
      const sheets = await print(page);
      assertEqual(sheets > 1, true, `${sheets} sheets`);
      await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
      assertEqual(await page.getByRole('row').count(), 91, 'rows on paper');
      assertEqual(await columnsOnPaper(page, 1), await columnsOnPaper(page, 0), 'left edges');
      await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
    } finally {
      await lab.query(`delete from devices where serial_number like 'PRINT%'`);
    }
  },
};
