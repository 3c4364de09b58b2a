//! Numbers of several pairs side by side: a loop over pairs then loads and stores whole vectors.

/// How many pairs stand side by side. A block of pairs is some KiB, and most pools fit in one or two.
pub(crate) const BLOCK: usize = 32;

/// What is known of one pair (or of one kernel), and its form for [`BLOCK`] of them, in which equal numbers
/// are neighbours.
pub trait InBlocks: Copy + Default {
    /// The same of [`BLOCK`] pairs: an array for each number.
    type Block: Clone;

    /// Zeros in every place.
    const ZERO: Self::Block;

    /// What a place has.
    fn get(block: &Self::Block, place: usize) -> Self;

    /// Gives it to a place.
    fn set(self, block: &mut Self::Block, place: usize);
}

/// The only number: of a loop that stores numbers of different sizes to one block the compiler makes no
/// vectors.
impl InBlocks for f64 {
    type Block = [f64; BLOCK];

    const ZERO: Self::Block = [0.0; BLOCK];

    #[inline(always)]
    fn get(block: &Self::Block, place: usize) -> Self {
        block[place]
    }

    #[inline(always)]
    fn set(self, block: &mut Self::Block, place: usize) {
        block[place] = self;
    }
}

impl<T: InBlocks> InBlocks for [T; 3] {
    type Block = [T::Block; 3];

    const ZERO: Self::Block = [T::ZERO; 3];

    #[inline(always)]
    fn get([a, b, c]: &Self::Block, place: usize) -> Self {
        [T::get(a, place), T::get(b, place), T::get(c, place)]
    }

    #[inline(always)]
    fn set(self, block: &mut Self::Block, place: usize) {
        let ([a, b, c], [block_a, block_b, block_c]) = (self, block);
        a.set(block_a, place);
        b.set(block_b, place);
        c.set(block_c, place);
    }
}

/// Declares a struct and, with the name behind `in`, its form for a block.
macro_rules! blocks {
    ($(#[$about:meta])* $vis:vis struct $Name:ident in $Block:ident {
        $($(#[$doc:meta])* $field_vis:vis $field:ident: $number:ty,)+
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default)]
        $vis struct $Name {
            $($(#[$doc])* $field_vis $field: $number,)+
        }

        #[doc = concat!("[`", stringify!($Name), "`] of a block, an array for each number.")]
        #[derive(Debug, Clone)]
        $vis struct $Block {
            $($field: <$number as $crate::features::block::InBlocks>::Block,)+
        }

        impl $crate::features::block::InBlocks for $Name {
            type Block = $Block;

            const ZERO: $Block = $Block { $($field: <$number as $crate::features::block::InBlocks>::ZERO,)+ };

            #[inline(always)]
            fn get(block: &$Block, place: usize) -> Self {
                Self { $($field: <$number>::get(&block.$field, place),)+ }
            }

            #[inline(always)]
            fn set(self, block: &mut $Block, place: usize) {
                $(self.$field.set(&mut block.$field, place);)+
            }
        }
    };
}
pub(crate) use blocks;
