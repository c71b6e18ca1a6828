// Colours of cells in JupyterLab: Lua, and in it the CUDA C of kernel strings and of %%cuda cells, as the shell has them;
// and plots no wider than their cell.
// It takes the place of the page's own mode for Lua. install.c appends the keywords of Lua, and the words of CUDA C with what
// they are: the whole is a call. The page loads it as a prebuilt extension, a webpack module container that gives a plugin.
(words => {
  'use strict';

  const atoms = new Set(['nil', 'true', 'false']);
  const functions = new Set(('assert collectgarbage dofile error getmetatable ipairs load loadfile next pairs pcall print ' +
    'rawequal rawget rawlen rawset require select setmetatable tonumber tostring type warn xpcall').split(' '));
  const openers = new Set(['do', 'else', 'function', 'repeat', 'then', '(', '{']);
  const closers = new Set(['else', 'elseif', 'end', 'until', ')', '}']);
  // Whose string or table begins with CUDA C.
  const compilers = new Set(['kernel', 'vectorize', 'reduction', 'scan']);
  const cudaStyles = {keyword: 'keyword', type: 'typeName', directive: 'meta', variable: 'variableName.standard',
                      function: 'variableName.standard'};

  // Takes what the expression (sticky) finds in the line in front of `limit`; null when it finds nothing.
  function take(stream, expression, limit = stream.string.length) {
    expression.lastIndex = stream.pos;
    const found = expression.exec(stream.string.slice(0, limit));
    if (!found || !found[0]) return null;
    stream.pos += found[0].length;
    return found;
  }

  // What a token does to the indentation of the next line: those that close at the beginning of a line have moved their
  // own line already.
  function indent(state, opens, closes) {
    if (closes && state.begun) state.net--;
    if (opens) state.net++;
    state.begun = true;
  }

  // ---- Lua
  // In a long string or comment, from behind its brackets: up to the end of the line or its closing brackets.
  function insideLong(stream, state) {
    const end = stream.string.indexOf(state.close, stream.pos);
    const was = state.long;
    stream.pos = end < 0 ? stream.string.length : end + state.close.length;
    if (was === 'string' && /\b__(global|device)__\b/.test(stream.string.slice(stream.start, stream.pos))) {
      state.long = 'cuda';
      stream.pos = stream.start;
      return cuda(stream, state);
    }
    if (end >= 0) state.long = '';
    return was;
  }

  function beginLong(stream, state, brackets, kind) {
    state.close = ']' + '='.repeat(brackets.length - 2) + ']';
    state.long = kind;
    state.comment = false;
    return kind === 'comment' ? insideLong(stream, state) : 'string';
  }

  function word(stream, state, text) {
    indent(state, openers.has(text), closers.has(text));
    state.before = text;
    if (atoms.has(text)) return 'atom';
    if (words.lua.includes(text)) return 'keyword';
    const field = /(^|[^.])[.:]\s*$/.test(stream.string.slice(0, stream.start));
    return functions.has(text) && !field ? 'variableName.standard' : 'variableName';
  }

  function lua(stream, state) {
    let found;
    if (state.long) return state.long === 'cuda' ? cuda(stream, state) : insideLong(stream, state);
    if (stream.sol() && take(stream, /%\w+|[?!].*/y)) return 'meta';
    if ((found = take(stream, /--(\[=*\[)?/y)))
      return found[1] ? beginLong(stream, state, found[1], 'comment') : (stream.skipToEnd(), 'comment');
    if ((found = take(stream, /\[=*\[/y)))
      return beginLong(stream, state, found[0], compilers.has(state.before) ? 'cuda' : 'string');
    if (take(stream, /"(\\.|[^"\\])*"?|'(\\.|[^'\\])*'?/y)) return indent(state), 'string';
    if (take(stream, /0[xX][\da-fA-F.]*([pP][-+]?\d+)?|(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?/y)) return indent(state), 'number';
    if ((found = take(stream, /[A-Za-z_]\w*/y))) return word(stream, state, found[0]);
    if (take(stream, /[-+*\/%^#&~|<>=]|\.\.+/y)) return indent(state), state.before = '', 'operator';
    const character = stream.next();
    indent(state, openers.has(character), closers.has(character));
    if (!'({'.includes(character)) state.before = '';
    return null;
  }

  // ---- CUDA C
  function cuda(stream, state) {
    const end = state.close ? stream.string.indexOf(state.close, stream.pos) : -1;
    const limit = end < 0 ? stream.string.length : end;
    let found;
    if (stream.pos === end) {
      stream.pos += state.close.length;
      state.long = state.before = '';
      state.begun = true;
      state.net = 0; // the brackets within were the string's
      return 'string';
    }
    if (state.comment) {
      found = take(stream, /.*?\*\//y, limit);
      if (found) state.comment = false;
      else stream.pos = limit;
      return 'comment';
    }
    if (take(stream, /\/\/.*/y, limit)) return 'comment';
    if (take(stream, /\/\*/y, limit)) return (state.comment = true, 'comment');
    if (take(stream, /#\s*\w*/y, limit)) return 'meta';
    if (take(stream, /"(\\.|[^"\\])*"?|'(\\.|[^'\\])*'?/y, limit)) return indent(state), 'string';
    if (take(stream, /(0[xX][\da-fA-F']+|0[bB][01']+|(\d[\d']*\.?\d*|\.\d+)([eE][-+]?\d+)?)\w*/y, limit))
      return indent(state), 'number';
    if ((found = take(stream, /[A-Za-z_]\w*/y, limit))) return indent(state), cudaStyles[words.cuda[found[0]]] || 'variableName';
    if (take(stream, /[-+*\/%^&~|<>=!?]/y, limit)) return indent(state), 'operator';
    const character = stream.next();
    indent(state, '({'.includes(character), ')}'.includes(character));
    return null;
  }

  // ---- the mode
  // state.long: '' in Lua, else what the brackets hold that state.close ends; state.before: the word that a string may be an
  // argument of; of the last line with something in it: its column, whether something stood in it, and the brackets it opened.
  const mode = {
    name: 'lua',
    startState: () => ({first: true, long: '', close: '', comment: false, before: '', column: 0, begun: false, net: 0}),
    token(stream, state) {
      if (state.first && take(stream, /%%.*/y)) {
        state.long = /^%%cuda\b/.test(stream.string) ? 'cuda' : 'other';
        state.first = false;
        return 'meta';
      }
      state.first = false;
      if (state.long === 'other') return (stream.skipToEnd(), null);
      if (stream.sol() && /\S/.test(stream.string)) Object.assign(state, {column: stream.indentation(), begun: false, net: 0});
      if (state.long !== 'string' && stream.eatSpace()) return null;
      return lua(stream, state);
    },
    indent(state, rest, context) {
      if (state.long && state.long !== 'cuda') return null;
      const closes = state.long ? /^[)}]/ : /^(end|else|elseif|until)\b|^[)}]/;
      const steps = Math.max(-1, Math.min(1, state.net)) - closes.test(rest);
      return Math.max(0, state.column + steps * context.unit);
    },
    languageData: {
      commentTokens: {line: '--', block: {open: '--[[', close: ']]'}},
      closeBrackets: {brackets: ['(', '[', '{', '"', "'"]},
      indentOnInput: /^\s*(end|else|elseif|until|[)}])$/
    }
  };

  // ---- the extension
  let shared;
  async function ask(name) { // a module of the page's
    const versions = Object.values(shared[name]);
    return (await versions[versions.length - 1].get())();
  }
  async function extension() {
    const [editor, language] = await Promise.all([ask('@jupyterlab/codemirror'), ask('@codemirror/language')]);
    return {
      id: 'lunarray:highlight',
      description: 'Colours Lua and the CUDA C in it; plots fit their cells.',
      autoStart: true,
      requires: [editor.IEditorLanguageRegistry],
      activate(app, languages) {
        // The page does so with other pictures; of a plot that is wider than its cell the right side would be out of sight.
        const style = document.createElement('style');
        style.textContent = '.jp-RenderedSVG:not(.jp-mod-unconfined) img { max-width: 100%; height: auto; }';
        document.head.append(style);
        const entry = languages.findByName('lua');
        if (!entry) return;
        entry.load = async () => new language.LanguageSupport(language.StreamLanguage.define(mode));
        entry.support = undefined;
      }
    };
  }
  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB.lunarray = {
    init(scope) { shared = scope; },
    async get() {
      const plugin = await extension();
      return () => ({__esModule: true, default: plugin});
    }
  };
})
