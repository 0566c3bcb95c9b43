"""Translation, the paper's other half: parallel text, subwords, encoder-decoder, search, BLEU."""
