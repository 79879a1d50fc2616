/** What an expression of PromQL names, as far as ours go. */
export interface Names {
  /** With the labels of their selectors: name, operator, value. */
  metrics: { name: string; matchers: [label: string, operator: string, value: string][] }[];
  /** Of `by (…)`. */
  groupedBy: string[];
}

const WORDS = ['and', 'or', 'unless', 'by', 'on'];
const SELECTOR = /([a-zA-Z_:][\w:]*)(?:\{([^}]*)\})?/g;
const MATCHER = /(\w+)(=~|!~|!=|=)"([^"]*)"/g;

/** Grouping and functions are left out first, then what is left are metrics, numbers and operators. */
export function namesOf(expression: string): Names {
  const groupedBy: string[] = [];
  const rest = expression
    .replace(/\bby \(([^)]*)\)/g, (_all, labels: string) => {
      groupedBy.push(...labels.split(',').map((label) => label.trim()));
      return '';
    })
    .replace(/\[[^\]]*\]/g, '')
    .replace(/[a-z_]+(?=\s*\()/g, '');
  const metrics = [...rest.matchAll(SELECTOR)]
    .filter(([, name = '']) => !WORDS.includes(name))
    .map(([, name = '', selector = '']) => {
      const matchers = [...selector.matchAll(MATCHER)].map(
        ([, label = '', operator = '', value = '']) =>
          [label, operator, value] as [string, string, string],
      );
      return { name, matchers };
    });
  return { metrics, groupedBy };
}
