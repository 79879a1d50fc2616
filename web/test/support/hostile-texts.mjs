// Texts that would run if they became part of a page.
import { assertEqual } from './steps.mjs';

/** Says which text has run. */
export const markup = (name) => `"'><img src=x onerror=ran("${name}")>`;

/** From the next page on, what runs is noted. */
export function watchTexts({ page }) {
  return page.addInitScript(() => {
    globalThis.ran = (name) => {
      globalThis.hasRun = name;
    };
  });
}

/** Throws unless the page shows these texts as they are, and none has become an element. */
export async function assertTexts({ page }, names, where) {
  for (const name of names) {
    await page
      .getByText(markup(name), { exact: false })
      .first()
      .waitFor({ timeout: 8_000 })
      .catch(() => {
        throw new Error(`${where} does not show the text of ${name}`);
      });
  }
  const found = await page.evaluate(() => ({
    elements: document.querySelectorAll('img, iframe, script:not([src]), [onerror]').length,
    ran: globalThis.hasRun,
  }));
  assertEqual(found.elements, 0, `elements from a text in ${where}`);
  assertEqual(found.ran, undefined, `what ran in ${where}`);
}
